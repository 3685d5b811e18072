// The requirements of trust scores, with the states of a pass and its transitions: each with the tests that prove it.
import type { Requirement } from './requirements.ts'

const scoring = 'http/trust/scoring.test.ts'
const composite = 'http/trust/composite.test.ts'
const examples = 'unit/trust/worked-examples.test.ts'
const schedule = 'unit/trust/schedule.test.ts'
const passes = 'unit/trust/trust-scoring.test.ts'
const pass = 'unit/trust/scoring-pass.test.ts'
const oracle = 'oracle/trust-scores.test.ts'
const largeOracle = 'process/trust/trust-oracle.test.ts'
const mcp = 'http/trust/mcp.test.ts'
const command = 'process/trust/trust-run.test.ts'
const everyType = 'http/events/every-type.test.ts'
const records = 'process/cli/operation-records.test.ts'
const crud = 'http/configuration/crud-conformance.test.ts'

export const trustRequirements: readonly Requirement[] = [
  {
    id: 'REQ-T1',
    sentence: 'the documented formulas give the scores of a naive model, and the worked examples are computed',
    shownBy: [
      [oracle, 'the scores of generated nodes are those of the naive model'],
      [largeOracle, 'the scores of generated nodes are those of the naive model'],
      [examples, 'has the value of %s that is computed'],
      [examples, 'has the final score that is computed, and an example for each dimension'],
    ],
  },
  {
    id: 'REQ-T2',
    sentence:
      'the members of the interface alone are a valid profile; others have documented defaults, and bad ones are refused',
    shownBy: [
      [crud, 'refuses'],
      [examples, 'lists every optional member with its default'],
      [scoring, 'is refused if another profile scores the type'],
    ],
  },
  {
    id: 'REQ-T3',
    sentence: 'waiting → running: when the schedule is due, once after missed passes, or when an operator asks',
    shownBy: [
      [scoring, 'scores the nodes of its type when its schedule is due, and not before'],
      [scoring, 'runs a pass once if several were missed'],
      [passes, 'counts from the creation of the profile'],
      [passes, 'answers all requests that are made before it begins'],
      [schedule, 'is due once in each period of %s, at the same offset'],
      [schedule, 'differs between profiles, and not between calls'],
      [command, 'runs a pass in the service that serves the folder, and otherwise itself'],
    ],
  },
  {
    id: 'REQ-T4',
    sentence: 'running → interrupted → running: a pass continues after a crash, and no reader sees half a score',
    shownBy: [
      [passes, 'starts over with the new dimensions if its profile is changed, as the same run'],
      [passes, 'that fails shows why, does not run again at once nor in the next process, and then continues'],
      [pass, 'continues from every state that it has saved, with the same scores and the same report'],
      [command, 'completes a pass whose processes are killed, and no reader sees half a score'],
    ],
  },
  {
    id: 'REQ-T5',
    sentence: 'running → ended: last_run_… are filled without a new revision, and only changed scores are written',
    shownBy: [
      [scoring, 'is not changed by its passes: an ETag from before is valid'],
      [pass, 'writes nothing if nothing has changed, and only the scores of changed nodes otherwise'],
    ],
  },
  {
    id: 'REQ-T6',
    sentence: 'scores are removed with their nodes and profiles, unless the profile keeps them',
    shownBy: [
      [scoring, 'is removed with its node, and with its profile'],
      [passes, 'leaves no score of nodes that are deleted while it runs'],
      [passes, 'ends if its profile is deleted, and its scores are removed'],
      [scoring, 'stays after its profile if the profile keeps scores'],
      [pass, 'removes the scores of deleted nodes, and gives a node that is created again a new one'],
      [scoring, 'loses a dimension that the profile does not have any more'],
    ],
  },
  {
    id: 'REQ-T7',
    sentence:
      'scores are read and filtered by in queries, decisions and explanations, over HTTP and MCP; only the service writes them',
    shownBy: [
      [scoring, 'can be filtered by; a node without score is rejected'],
      [scoring, 'decides in a policy'],
      [scoring, 'is explained: the explanation names the dimension that lowers it'],
      [scoring, 'is in the data schema of the type of its node'],
      [mcp, 'are null before the first pass, and are read, filtered by and decided by after it'],
      [scoring, 'has no value for a dimension that the node has nothing to judge for'],
      [scoring, 'cannot be written by captures and knowledge queries'],
      [composite, 'scores the nodes of all locations'],
    ],
  },
  {
    id: 'REQ-T8',
    sentence: 'the report has the distribution, the lowest scores and what would raise them',
    shownBy: [
      [scoring, 'has the distribution of the scores, and what would raise the lowest ones'],
      [scoring, 'is that of the last pass, and of a profile that exists'],
    ],
  },
  {
    id: 'REQ-T9',
    sentence: 'passes have events, and the command is in the audit log',
    shownBy: [
      [everyType, '%s'],
      [records, 'trust run, also one that fails'],
      [command, 'records the operation and the pass in the audit log of the service that serves the folder'],
    ],
  },
]
