SUPPORTED_TASKS = {}


def check_task(task):
    """(task, its description, options), as the real one gives them."""
    if task not in SUPPORTED_TASKS:
        raise KeyError(f"Unknown task {task}, available tasks are {sorted(SUPPORTED_TASKS)}")
    return task, SUPPORTED_TASKS[task], None
