// The requirements of entity matching pipelines, with the states and transitions: each with the tests that prove it.
import type { Requirement } from './requirements.ts'

const matching = 'process/matching/matching.test.ts'
const decisions = 'process/matching/decisions.test.ts'
const composite = 'process/matching/composite.test.ts'
const states = 'unit/matching/pipeline-states.test.ts'
const commands = 'process/matching/match-commands.test.ts'
const everyType = 'http/events/every-type.test.ts'
const events = 'http/events/completeness.test.ts'
const audit = 'http/audit/completeness.test.ts'
const records = 'process/cli/operation-records.test.ts'
const crud = 'http/configuration/crud-conformance.test.ts'

export const matchingRequirements: readonly Requirement[] = [
  {
    id: 'REQ-P1',
    sentence: 'a pipeline of the interface alone is valid; a rerun interval works or is refused',
    shownBy: [
      [crud, 'refuses'],
      [matching, 'compares the properties that a run names, and repeats them by its rerun interval'],
    ],
  },
  {
    id: 'REQ-P2',
    sentence: 'property mappings are suggested from the data, 202 until then, and a run may replace them',
    shownBy: [
      [matching, 'suggests property mappings, runs, and writes what it found'],
      [states, 'tries again after INVALID and ERROR, later each time'],
    ],
  },
  {
    id: 'REQ-P3',
    sentence: 'each transition of the documented tables of states happens, and others are refused',
    shownBy: [
      [states, '%s, %s → %s'],
      [states, '%s has the rows of the code'],
      [states, 'is not changed by a request while suggestions are in progress'],
      [states, 'is not changed by a request while a run is requested or in progress'],
      [states, 'shows the progress of its run until the run ends'],
      [states, 'is ERROR after the process has ended five times during a run'],
    ],
  },
  {
    id: 'REQ-P4',
    sentence: 'runtime requests are refused with 400, 401, 403, 404, 409 and 422, and the message names the place',
    shownBy: [
      [matching, 'is refused for an unknown pipeline, that of another project, and without permission'],
      [matching, 'is refused with 403 for a service account that may only read'],
      [matching, 'of a run is refused with %i for %j'],
      [matching, 'of a run is refused with 400 for the cutoff %s'],
      [matching, 'of a run is refused with 409 without mappings, and while another one is requested'],
      [matching, 'of a run is refused with 422 for a pair of nodes of one type that is labelled in both directions'],
      [matching, 'is the only one that matches its types: a second one is refused when it should run'],
    ],
  },
  {
    id: 'REQ-P5',
    sentence:
      'a run writes only differences; a run that is killed is completed by the next process, and no reader sees half a pair',
    shownBy: [
      [matching, 'finds the same pairs and scores in whatever order the nodes were captured'],
      [matching, 'writes only differences, and removes what does not match any more'],
      [matching, 'is INVALID and keeps its matches if a type has no value of the compared properties'],
      [commands, 'completes a run whose processes are killed, and no reader sees half a pair'],
    ],
  },
  {
    id: 'REQ-P6',
    sentence: 'matches end with their pipeline unless it keeps them; a relationship of another owner stays as it is',
    shownBy: [
      [matching, 'removes its relationships when it is deleted, unless it keeps them'],
      [states, 'ends a run whose pipeline is deleted, and its relationships are removed'],
      [matching, 'does not disturb a relationship `_SAME_AS` of another part of the service'],
      [matching, 'takes over the relationships that a deleted pipeline of its types has kept'],
      [matching, 'refuses a decision about a pair whose relationship another pipeline owns'],
    ],
  },
  {
    id: 'REQ-P7',
    sentence: 'policies and queries walk the relationship; only the service writes it, in all locations of a project',
    shownBy: [
      [matching, 'is walked by policies and knowledge queries, and written by the service only'],
      [matching, 'finds duplicates within one type: each pair once, and groups'],
      [composite, 'joins nodes of the same and of different locations'],
    ],
  },
  {
    id: 'REQ-P8',
    sentence: 'a decision takes effect at once, is kept over all later runs, and is in backups and exports',
    shownBy: [
      [decisions, 'takes effect at once, and is kept over all later runs'],
      [decisions, 'replaces an earlier one, and the next run decides after it is deleted'],
      [decisions, 'outlives its nodes: a node that is captured again is decided'],
      [decisions, 'is refused for nodes that do not exist, and for bad bodies'],
      [decisions, 'is listed in pages'],
      [decisions, 'is in backups and exports with its relationship'],
    ],
  },
  {
    id: 'REQ-P9',
    sentence: 'the report is JSON, lines or a page that loads nothing, with precision and recall if pairs are labelled',
    shownBy: [
      [decisions, 'has the numbers and the pairs to review, with the evidence for each'],
      [matching, 'counts all conflicts of a run, also those that its report does not list'],
      [decisions, 'is a page for browsers that loads nothing, and escapes what comes from the graph'],
    ],
  },
  {
    id: 'REQ-P10',
    sentence:
      'the commands work on a folder, on the service that serves it and at a URL; all of it is in the audit log',
    shownBy: [
      [commands, 'runs pipelines and decides in the service of the folder, at a URL, and otherwise itself'],
      [records, 'match run and match decide, also those that fail'],
      [everyType, '%s'],
      [events, 'names only types that exist, and every type that calls produce'],
      [audit, 'have every route, and nothing else'],
    ],
  },
]
