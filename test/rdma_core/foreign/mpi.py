# SPDX-License-Identifier: Apache-2.0
"""What a test needs to know of the installed Open MPI."""
import subprocess
import sys

# Lets root run mpirun.
ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}


def python_with_mpi4py():
    """Returns an interpreter that has mpi4py, or None. Debian's package of mpi4py is for Debian's interpreter, but the
    test may run under another one."""
    return next((python for python in (sys.executable, "/usr/bin/python3")
                 if subprocess.run([python, "-c", "import mpi4py"], capture_output=True).returncode == 0), None)


def has_component(framework, name):
    """Returns whether Open MPI was built with this component, for example the component ucx of the framework pml."""
    try:
        listed = subprocess.run(["ompi_info", "--param", framework, name], capture_output=True, text=True, timeout=60)
    except FileNotFoundError:
        return False
    return f"MCA {framework}: {name}" in listed.stdout
