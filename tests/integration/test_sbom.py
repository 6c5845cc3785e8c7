"""The bill of materials of a build (tools/sbom), and the page of licences beside it."""

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from conftest import is_sanitized, program
from test_install import ROOT

EPOCH = "1764244800"


@pytest.fixture(scope="module")
def build():
    if shutil.which("dpkg-query") is None:
        pytest.skip("not a Debian system")
    if is_sanitized(program("COPPICED")):
        pytest.skip("sanitized programs link more")
    return Path(program("COPPICED")).parents[1]


def sbom(build, status=0):
    done = subprocess.run([ROOT / "tools" / "sbom", build], capture_output=True, text=True, timeout=300,
                          env={**os.environ, "SOURCE_DATE_EPOCH": EPOCH})
    assert done.returncode == status, done.stderr
    return json.loads(done.stdout) if status == 0 else done.stderr


def test_bill_names_what_is_linked_and_is_the_same_each_time(build):
    bill = sbom(build)
    assert bill == sbom(build) and bill["creationInfo"]["created"] == "2025-11-27T12:00:00Z"
    packages = {package["SPDXID"]: package for package in bill["packages"]}
    assert len(packages) == len(bill["packages"]) > 20
    assert packages["SPDXRef-coppice"]["licenseDeclared"] == "Apache-2.0"
    told = {relation["relatedSpdxElement"] for relation in bill["relationships"]}
    assert told == packages.keys()
    for name, licence in {"libzmq5": "LGPL-3.0-or-later", "libc6": "LGPL-2.1-or-later", "libjansson4": "MIT"}.items():
        package = next(p for p in packages.values() if p["name"].removesuffix("t64") == name)
        version = subprocess.run(["dpkg-query", "-W", "-f", "${Version}", package["name"]], capture_output=True, text=True).stdout
        assert package["versionInfo"] == version and package["licenseDeclared"] == licence
        assert package["externalRefs"][0]["referenceLocator"].startswith(f"pkg:deb/debian/{package['name']}@")


def test_page_has_each_library_under_what_links_it(build):
    page = (ROOT / "docs/reference/licences.md").read_text()
    rows = dict(re.findall(r"^\| (lib[a-z-]+) \| [^|]+ \| (.+) \|$", page, re.M))
    places = {"coppiced": "daemon/coppiced", "coppice": "tools/coppice", "coppice-refit": "daemon/coppice-refit",
              "coppice-lease": "daemon/coppice-lease", "coppiced-streams": "daemon/streams/coppiced-streams", "coppice-mpi": "tools/coppice-mpi", "coppice-refit-mpi": "daemon/coppice-refit-mpi",
              "libcoppice": "lib/libcoppice.so", "libcoppice-client": "clients/c/libcoppice-client.so"}  # fmt: skip
    linked = {}
    for name, place in places.items():
        text = subprocess.run(["readelf", "--dynamic", build / place], capture_output=True, text=True, check=True).stdout
        for library in re.findall(r"NEEDED.*\[(lib[a-z-]+?)(?:-gnutls)?\.so", text):  # libcurl comes with either TLS
            linked.setdefault(library, []).append(name)
    assert rows == {library: ", ".join(names) for library, names in linked.items() if library != "libgcc_s"}


def test_half_a_build_is_refused(tmp_path):
    assert "daemon/coppiced" in sbom(tmp_path, 1) and "expected a whole build" in sbom(tmp_path, 1)


def test_clients_have_the_version_of_the_library():
    version = re.search(r'COPPICE_VERSION +"(.*)"', (ROOT / "include/coppice.h").read_text()).group(1)
    assert json.loads((ROOT / "clients/node/package.json").read_text())["version"] == version
    assert f'__version__ = "{version}"' in (ROOT / "clients/python/coppice/__init__.py").read_text()
