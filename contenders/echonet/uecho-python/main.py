"""uecho, the Python library of the uecho family, as a contender of the echonet workload, in both roles, used as in its examples."""

import importlib.metadata
import os

from controller import Reader
from device import start_device
from netdyno_contender.echonet import begin, serve_controller, serve_device


def main():
    lab, setup, params = begin()
    lab.ready("uecho", importlib.metadata.version("uecho"))
    if setup.role == "controller":
        serve_controller(lab, setup, params, Reader(params))
    elif start_device(setup.seed):
        serve_device(lab)
    else:
        lab.failed("cannot start the library's node")
    os._exit(0)  # the library's threads never end


if __name__ == "__main__":
    main()
