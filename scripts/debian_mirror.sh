# shellcheck shell=bash disable=SC2016  # $(...) is apt's own notation
# The first Debian mirror of this machine's own apt configuration, without a suite.
debian_mirror() {
  apt-get indextargets --format '$(REPO_URI) $(ORIGIN)' 'Created-By: Packages' |
    awk '$2 == "Debian" && $1 !~ /security/ && !found { sub(/\/$/, "", $1); print $1; found = 1 }'
}
