"""Three files or more: one column for each, and what makes them unlike by the columns' names."""

import json

import pytest

from gpubench_reports.commands.command_line import main

from .factory import make_document, make_row


def test_means_of_many_files_for_other_programs(write, capsys):
    files = [
        str(write(make_document([make_row("a/b", seconds)], git_commit=f"{seconds}" * 8), name))
        for seconds, name in ((4, "a.json"), (2, "b.json"), (1, "c.json"))
    ]
    assert main(["compare", *files, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["reference"], found["by"]) == ("commit 44444444", "concept")
    ratios = {name: lines[0]["ratio"] for name, lines in found["lines"].items()}
    assert ratios == {"commit 22222222": pytest.approx(2), "commit 11111111": pytest.approx(4)}


def test_warnings_about_many_files_name_them_as_the_table_does(write, capsys):
    contexts = [
        {"driver_version": "570"},
        {"driver_version": "580", "mode": "hot", "caveats": ["others used the GPU"]},
        {"driver_version": "590", "imported_from": "nvbench"},
    ]
    paths = [str(write(make_document(**c), f"{n}.json")) for n, c in enumerate(contexts)]
    assert main(["compare", *paths, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["warnings"] == [
        "the modes differ: driver 570 is cold, driver 580 is hot",
        "driver 580: others used the GPU",
        "the programs differ: driver 570 is by gpubench, driver 590 by nvbench",
    ]


def test_devices_and_models_among_many_files_are_named(write, capsys):
    contexts = [("A100", "cuda"), ("A100", "model"), ("H100", "model")]
    paths = [
        str(write(make_document(device_title=d, device=d.lower(), device_kind=kind), f"{d}-{kind}"))
        for d, kind in contexts
    ]
    assert main(["compare", *paths, "--json"]) == 0
    errors = "the ratios are errors of the model, not speed-ups"
    assert json.loads(capsys.readouterr().out)["warnings"] == [
        f"A100 measured is measured and A100 modelled is modelled: {errors}",
        f"A100 measured is measured and H100 modelled is modelled: {errors}",
        "the devices differ: A100 measured, H100 modelled",
    ]
    assert main(["compare", paths[1], paths[2], paths[2], "--json"]) == 0
    said = json.loads(capsys.readouterr().out)["warnings"]
    assert said[0].endswith(" are modelled: the ratios are predictions, nothing was measured")
    assert not said[0].startswith("both")


def test_a_name_that_holds_other_words_by_chance_does_not_stand_for_them(write, capsys):
    contexts = [("Photon 1", "cold"), ("Photon 2", "hot"), ("Photon 3", "cold")]
    paths = [
        str(write(make_document(device_title=title, device=title, mode=mode), f"{title}.json"))
        for title, mode in contexts
    ]
    assert main(["compare", *paths, "--json"]) == 0
    said = json.loads(capsys.readouterr().out)["warnings"]
    assert "the modes differ: Photon 1 is cold, Photon 2 is hot" in said


def test_many_files_have_no_limit_by_row(capsys):
    assert main(["compare", "a.json", "b.json", "c.json", "--fail-on=5%"]) == 2
    assert "is for two files" in capsys.readouterr().err
