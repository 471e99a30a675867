"""examples/cluster/slurm.sh on a real slurmctld and slurmd, started here for this test alone."""

import contextlib
import json
import os
import pathlib
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
VERNIER = sys.argv.pop(1)
DAEMONS = ("slurmctld", "slurmd", "sbatch")


def program(name):
    return shutil.which(name, path=os.environ["PATH"] + ":/usr/sbin:/sbin")


# Where nobody has to be proven to be who they say they are: this machine alone.
HAS_PLAIN_LOGIN = any(pathlib.Path("/usr/lib").glob("*/slurm-wlm/auth_none.so"))


def free_ports(count):
    """Ports that nobody listens at, all different."""
    with contextlib.ExitStack() as held:
        probes = [held.enter_context(socket.socket()) for _ in range(count)]
        for probe in probes:
            probe.bind(("127.0.0.1", 0))
        return [probe.getsockname()[1] for probe in probes]


@unittest.skipIf(os.geteuid() != 0, "slurmd needs root")
@unittest.skipUnless(all(map(program, DAEMONS)), "Slurm is not installed")
@unittest.skipUnless(HAS_PLAIN_LOGIN, "this Slurm cannot run without munge")
class Slurm(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="vernier-slurm-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        for name in ("state", "spool"):
            (self.folder / name).mkdir()
        host = socket.gethostname().split(".")[0]
        control_port, node_port = free_ports(2)
        # Slurm 23.11 and later do without control groups only when told so; older ones know no such plugin.
        version = subprocess.run([program("slurmctld"), "-V"], capture_output=True, text=True).stdout
        modern = [int(part) for part in re.findall(r"\d+", version)[:2]] >= [23, 11]
        (self.folder / "cgroup.conf").write_text(
            "CgroupPlugin=disabled\n" if modern else "CgroupAutomount=no\n"
        )
        (self.folder / "slurm.conf").write_text(f"""
ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmUser=root
AuthType=auth/none
CredType=cred/none
SlurmctldPort={control_port}
SlurmdPort={node_port}
StateSaveLocation={self.folder}/state
SlurmdSpoolDir={self.folder}/spool
SlurmctldPidFile={self.folder}/slurmctld.pid
SlurmdPidFile={self.folder}/slurmd.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SwitchType=switch/none
MpiDefault=none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
ReturnToService=2
SchedulerParameters=sched_interval=1,bf_interval=1
NodeName={host} NodeAddr=127.0.0.1 CPUs={os.cpu_count()} State=UNKNOWN
PartitionName=all Nodes={host} Default=YES MaxTime=INFINITE State=UP
""")
        self.environment = dict(
            os.environ, SLURM_CONF=str(self.folder / "slurm.conf"), VERNIER=VERNIER
        )
        for daemon in ("slurmctld", "slurmd"):
            log = open(self.folder / f"{daemon}.log", "w")
            process = subprocess.Popen(
                [program(daemon), "-D"], env=self.environment, stdout=log, stderr=log
            )
            self.addCleanup(log.close)
            self.addCleanup(self.end, process)

    def end(self, process):
        process.terminate()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def run_here(self, *command):
        return subprocess.run(
            list(map(str, command)), env=self.environment, cwd=self.folder, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )

    def logs(self):
        files = [*self.folder.glob("*.log"), *self.folder.glob("result.json.parts/*.log")]
        return "".join(f"--- {file.name}\n{file.read_text()[-2000:]}\n" for file in files)

    def wait_for(self, file, seconds=180):
        end = time.monotonic() + seconds
        while not file.exists():
            if time.monotonic() > end:
                self.fail(self.run_here("squeue").stdout + self.logs())
            time.sleep(0.5)

    def submit(self, parts, *command):
        """The result, when it is there."""
        end = time.monotonic() + 60
        # The daemons may take a moment to answer.
        while self.run_here("sinfo", "--noheader").returncode and time.monotonic() < end:
            time.sleep(0.5)
        result = self.folder / "result.json"
        submitted = self.run_here(ROOT / "examples" / "cluster" / "slurm.sh", parts, result, *command)
        self.assertEqual(submitted.returncode, 0, submitted.stdout + self.logs())
        self.wait_for(result)
        return result

    def test_parts_of_an_array_job_make_the_bytes_of_one_run(self):
        mnist = ROOT / "tests" / "fixtures" / "mnist"
        command = [
            "eval", mnist / "mnist_cnn.int8.onnx", "--reference", mnist / "mnist_cnn.onnx",
            "--input-data", mnist / "mnist_inputs.npz", "--samples", "6",
        ]
        whole = self.folder / "whole.json"
        self.run_here(VERNIER, *command, "-o", whole)
        result = self.submit(3, *command)
        self.assertEqual(result.read_bytes(), whole.read_bytes())
        self.assertEqual(len(list(self.folder.glob("result.json.parts/*.vpart"))), 3)

    def test_rows_of_a_zoo_are_tasks_of_an_array_job(self):
        for name in ("mnist_cnn.onnx", "mnist_cnn.int8.onnx", "mnist_inputs.npz"):
            shutil.copy(ROOT / "tests" / "fixtures" / "mnist" / name, self.folder)
        zoo = {
            "vernier_zoo": 1,
            "options": {"input-data": "mnist_inputs.npz", "samples": 3},
            "models": {"cnn": {"reference": "mnist_cnn.onnx",
                               "precisions": {"int8": "mnist_cnn.int8.onnx", "fp16": {}}}},
        }
        (self.folder / "zoo.json").write_text(json.dumps(zoo))
        rows = json.loads(self.submit(2, "zoo", self.folder / "zoo.json").read_text())["rows"]
        self.assertEqual([row["state"] for row in rows], ["cached", "cached"])


if __name__ == "__main__":
    unittest.main()
