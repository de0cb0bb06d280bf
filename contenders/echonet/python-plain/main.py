"""The echonet workload on plain sockets: ../PLAIN.md."""

import ipaddress
import platform
import threading

from controller import Controller
from device import Device
from link import open_link
from netdyno_contender.echonet import begin, identification, serve_device, serve_runner


def run_device(lab, setup):
    device = Device(identification(setup.seed), open_link(setup.local))
    device.announce()

    def run():
        try:
            device.run()
        except Exception as error:
            lab.failed(repr(error))

    threading.Thread(target=run, daemon=True).start()
    serve_device(lab)


def main():
    lab, setup, params = begin()
    if any(ipaddress.ip_address(address).version != 4 for address in (params.local, params.peer)):
        lab.unsupported("IPv4 only")
    lab.ready("plain sockets", platform.python_version())
    if setup.role == "controller":
        serve_runner(lab, setup, params, Controller(params))
    else:
        run_device(lab, setup)


if __name__ == "__main__":
    main()
