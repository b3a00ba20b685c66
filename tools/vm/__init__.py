"""Run the sandbox's suites in a virtual machine that has control groups v2 (`make vm-test`)."""
