#!/bin/sh
# Runs inside the virtual machine: the suites of the sandbox under control groups v2, by a user and by root.
# usage: guest.sh CHECKOUT RESULTS; RESULTS/tests lists the tests, and each user leaves USER.xml, .log and .limits there
set -u
checkout=$1 results=$2
python="PYTHONPATH=$checkout/.venv/lib/python3.11/site-packages PYTHONPYCACHEPREFIX=/var/pycache"
python="$python PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1 PYTEST_DISABLE_PLUGIN_AUTOLOAD=1 HOME=/tmp"

# The unit that operators install, with another program in it.
units=/run/systemd/system
mkdir -p "$units/benchgate-worker@.service.d"
cp "$checkout/deploy/systemd/benchgate-worker@.service" "$units/"
cat >"$units/benchgate-worker@.service.d/test.conf" <<END
[Service]
Type=oneshot
Restart=no
EnvironmentFile=
Environment=$python
WorkingDirectory=$checkout
# The checkout may be where homes are.
ProtectHome=tmpfs
BindReadOnlyPaths=$checkout
ExecStart=
ExecStart=/usr/bin/python3 -m tools.vm.inside
StandardOutput=file:$results/benchgate-worker.limits
StandardError=file:$results/benchgate-worker.limits.log
END
systemctl daemon-reload

# Starts a program as a service of its own that systemd gives its control group: `delegated USER LOG PROGRAM…`
delegated() {
    user=$1 log=$2
    shift 2
    systemd-run --quiet --wait --pipe --collect --property "Environment=$python" \
        --property "User=$user" --property Delegate=yes --property LimitNICE=-20 \
        --property "WorkingDirectory=$checkout" "$@" >"$log" 2>&1
}

run() {
    # Of the plug-ins only these: one needs a module that Debian's Python has to be given.
    # shellcheck disable=SC2046  # a list of words
    delegated "$1" "$results/$1.log" python3 -m pytest -q -p xdist -p pytest_socket -p pytest_timeout \
        -o timeout=1800 -o junit_family=xunit1 --junitxml "/tmp/$1.xml" $(cat "$results/tests")
    cp "/tmp/$1.xml" "$results/"
}

run benchgate-worker &
run root &
wait
systemctl start benchgate-worker@perf
delegated root "$results/root.limits" python3 -m tools.vm.inside
