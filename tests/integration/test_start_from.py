"""Models that begin with a saved one: start_from."""

import pytest
from bandit_logs import ARMS, FEATURES, events, replay, write_vw
from conftest import DEADLINE, model

X = [0.1, -0.2, 0.3, 0.4]


@pytest.fixture
def saved(tmp_path):
    path = tmp_path / "saved.model"
    log = tmp_path / "log.vw"
    write_vw(log, events(500))
    replay(log, "--height", "2", "--trees", "2", "--save", path)
    return path


def shop(saved, **more):
    return model(name="shop", features=FEATURES, arms=ARMS, start_from=str(saved), **more)


def refused(daemon, text, *args):
    d = daemon(text, start=False)
    d.launch(*args)
    assert d.process.wait(DEADLINE) == 1
    return d.log()


def test_start_from_saved_model_serves_what_it_learned(daemon, saved):
    d = daemon(shop(saved))
    before = d.client().model("shop")
    assert before["rev"] == before["learned"] == before["decisions"] == 500 and before["pending"] == 0
    d.logged("event=started_from model=shop")
    plain = daemon(shop(saved).replace(f'start_from = "{saved}"', "")).client()
    assert plain.model("shop")["rev"] == 0
    explained = d.client().ok("explain", "shop", {"x": X})
    assert explained["experts"] != plain.ok("explain", "shop", {"x": X})["experts"]


def test_start_from_is_looked_at_only_once(daemon, saved):
    d = daemon(shop(saved))
    client = d.client()
    for i in range(5):
        client.decide("shop", i, X)
        client.feedback("shop", i, 0.0)
    d.logged("event=started_from")  # a kill may lose a line
    d.kill()  # what it began with is in a checkpoint already
    saved.unlink()
    d.start()
    assert d.client().model("shop")["rev"] == 505
    assert d.log().count("event=started_from") == 1


def test_start_from_after_reset_begins_with_it_again(daemon, saved):
    d = daemon(shop(saved))
    client = d.client()
    client.decide("shop", 1, X)
    client.feedback("shop", 1, 0.0)
    d.stop()
    d.start("--reset-model", "shop")
    assert d.client().model("shop")["rev"] == 500


def test_start_from_relative_to_the_configuration(daemon, saved):
    d = daemon(shop("saved.model"), start=False)
    d.folder.joinpath("saved.model").write_bytes(saved.read_bytes())
    d.start()
    assert d.client().model("shop")["rev"] == 500


def test_start_from_of_another_shape_is_refused_with_both(daemon, saved):
    log = refused(daemon, shop(saved, height=3))
    assert str(saved) in log and "height 2" in log and "height 3" in log


@pytest.mark.parametrize("spoil", [lambda b: b"", lambda b: b[:-1], lambda b: b[:200] + bytes([b[200] ^ 1]) + b[201:]])
def test_start_from_damaged_file_is_refused(daemon, saved, spoil):
    saved.write_bytes(spoil(saved.read_bytes()))
    assert str(saved) in refused(daemon, shop(saved))


def test_start_from_missing_file_is_refused(daemon, saved):
    saved.unlink()
    assert str(saved) in refused(daemon, shop(saved))
