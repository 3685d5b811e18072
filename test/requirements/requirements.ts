// The rules of the interface that the service keeps today: each with an id, one sentence and the tests that show it.
// requirements.test.ts fails when a test that is named here is gone, so that no rule loses its proof unnoticed.

import { authzenPoints } from './authzen-requirements.ts'

export interface Requirement {
  /** Letter of its chapter and a number: R runtime, G graph, D decisions, F configuration, A authentication, C context queries,
   * W their writes, E errors, O operations, M the Model Context Protocol. */
  readonly id: string
  readonly sentence: string
  /** File below test/, and a part of the test's name. */
  readonly shownBy: readonly (readonly [file: string, name: string])[]
}

export interface Gap {
  readonly id: string
  readonly sentence: string
  /** Why it is not kept yet, and what happens meanwhile. */
  readonly reason: string
}

const access = 'http/decisions/access.test.ts'
const server = 'unit/http/server.test.ts'
const together = 'process/workers/shared-state.test.ts'
const capture = 'http/capture/capture.test.ts'
const deletions = 'http/capture/deletions.test.ts'
const composite = 'http/capture/composite-projects.test.ts'
const compositeKill = 'process/store/composite-kill.test.ts'
const proxies = 'unit/store/tenancy/composite.test.ts'
const config = 'unit/config/service.test.ts'
const battery = 'http/configuration/crud-conformance.test.ts'
const provisioning = 'unit/config/provisioning.test.ts'
const policies = 'unit/policy/authorization-policy.test.ts'
const tokens = 'unit/identity/user-tokens.test.ts'
const userTokens = 'http/tokens/user-tokens.test.ts'
const writes = 'http/context-query/writes.test.ts'
const mcpClients = 'http/mcp/official-clients.test.ts'
const mcpWire = 'http/mcp/protocol.test.ts'
const mcpSecurity = 'http/mcp/security.test.ts'
const mcpListen = 'http/mcp/subscriptions.test.ts'
const upstream = 'unit/upstream/client.test.ts'
const external = 'http/context-query/external-values.test.ts'
const externalReads = 'http/decisions/external-properties.test.ts'
const templates = 'unit/pip/template.test.ts'

export const requirements: readonly Requirement[] = [
  ...authzenPoints,
  {
    id: 'R1',
    sentence: 'two commands of the README start the service, and the lines that it prints answer as printed',
    shownBy: [['process/demo.test.ts', 'prints a permit, a denial and a search, and each answers as promised']],
  },
  {
    id: 'R2',
    sentence: 'engine and store decide in process, without a server',
    shownBy: [['process/package.test.ts', 'runs the example of the README under %s']],
  },
  {
    id: 'R3',
    sentence: 'a stop lets running requests finish and ends with 0',
    shownBy: [
      [server, 'lets a running request finish'],
      ['process/cli/cli.test.ts', 'ends with 0 on SIGTERM'],
    ],
  },
  {
    id: 'R4',
    sentence: 'no acknowledged write is lost and no half batch is seen after a kill',
    shownBy: [['process/cli/kill.test.ts', 'loses no acknowledged batch and shows no half batch']],
  },
  {
    id: 'R11',
    sentence: 'a full disk refuses what it cannot store and tears nothing; reads go on, and writes when there is room',
    shownBy: [
      ['process/store/disk-full.test.ts', 'a batch is refused whole'],
      ['process/store/disk-full.test.ts', 'refused whole as on a full disk'],
      ['process/workers/full-disk.test.ts', 'goes on deciding, and stores again when there is room'],
    ],
  },
  {
    id: 'R12',
    sentence: 'damage is an error and never another decision; `verify` finds it',
    shownBy: [
      ['http/operations/damaged-value.test.ts', 'lets nothing be decided'],
      ['process/cli/verify.test.ts', 'names the first key that is damaged'],
    ],
  },
  {
    id: 'R17-import',
    sentence: 'an import takes of an element what a capture takes, and goes on with what was cut off and nothing else',
    shownBy: [
      ['unit/transfer/parse-line.test.ts', 'is taken exactly when a capture would take the item'],
      ['process/transfer/export-import.test.ts', 'goes into the part where a capture would put it'],
      ['process/transfer/import-resume.test.ts', 'nothing is skipped when it is imported again'],
      ['process/transfer/import-resume.test.ts', 'is not gone on with, and is imported when that is asked'],
      ['process/transfer/import-resume.test.ts', 'an import that wrote nothing leaves nothing behind'],
      ['process/transfer/import-resume.test.ts', 'given up is not gone on with by a later one'],
    ],
  },
  {
    id: 'R13',
    sentence: 'a folder of another layout is refused with the command to run, and migrated whole or not at all',
    shownBy: [
      ['unit/store/lmdb/migrate-folder.test.ts', 'is refused with the command to run'],
      ['unit/store/lmdb/migrate-folder.test.ts', 'is migrated with all that it holds, and once'],
      ['unit/store/lmdb/migrate-folder.test.ts', 'is told to whoever opens the folder'],
    ],
  },
  {
    id: 'R14',
    sentence: 'what a node with many relationships costs to write to and to check does not grow with them',
    shownBy: [
      ['unit/store/graph/adjacency-edits.super-nodes.test.ts', 'costs no more to add to, to check and to look at'],
    ],
  },
  {
    id: 'R15',
    sentence: 'a graph grows by itself',
    shownBy: [
      ['unit/store/graph/environment.map-size.test.ts', 'grows beyond the address space that it was opened with'],
    ],
  },
  {
    id: 'R16',
    sentence: 'a graph for which the process has no room is refused, and the others go on',
    shownBy: [
      ['process/store/many-stores.test.ts', 'a store beyond the address space is refused, until another one is closed'],
      ['process/store/many-stores.test.ts', 'a store beyond the files that a process may open is refused'],
    ],
  },
  {
    id: 'R5',
    sentence: 'a backup of a served folder restores to one moment that existed, in all environments of a project',
    shownBy: [
      ['process/transfer/backup.test.ts', 'restores to one moment that existed'],
      ['process/transfer/backup.test.ts', 'the restored one answers alike'],
    ],
  },
  {
    id: 'R6',
    sentence: 'a backup that is damaged, cut off or forged in its names restores nothing',
    shownBy: [
      ['process/transfer/backup.test.ts', 'cut off or changed anywhere is refused'],
      ['process/transfer/backup.test.ts', 'writes nothing outside'],
    ],
  },
  {
    id: 'R7',
    sentence:
      'what is exported is imported as it was; an import that is killed goes on where it was and applies nothing twice',
    shownBy: [
      ['process/transfer/export-import.test.ts', 'byte by byte'],
      ['process/transfer/export-import.test.ts', 'killed again and again goes on where it was'],
      ['process/transfer/export-import.test.ts', 'told with its number and its field'],
    ],
  },
  {
    id: 'R8',
    sentence: 'a bulk load leaves what ordinary batches leave',
    shownBy: [['unit/store/graph/bulk-batch.test.ts', 'leaves what ordinary batches leave']],
  },
  {
    id: 'R9',
    sentence: 'what one worker has acknowledged is seen by the next request at any other: no stale permit',
    shownBy: [
      [together, 'is seen by the next request to another'],
      [together, 'a key that was revoked'],
      [together, 'takes away a project'],
      [together, 'lose no update of one document'],
    ],
  },
  {
    id: 'R10',
    sentence:
      'a worker that is killed is replaced and loses nothing acknowledged, and another takes over what it alone did',
    shownBy: [
      ['process/workers/restarts.test.ts', 'is replaced, and takes nothing acknowledged with it'],
      ['process/workers/restarts.test.ts', 'end by themselves'],
      ['process/store/leader-election.test.ts', 'when it is killed another takes it over'],
      ['process/store/stale-readers.test.ts', 'does not grow for ever'],
    ],
  },
  {
    id: 'G1',
    sentence: 'a second capture of a node replaces what is given and keeps what is absent',
    shownBy: [[capture, 'replaces what is given and keeps what is absent']],
  },
  {
    id: 'G2',
    sentence: 'a relationship without its end node refuses the whole batch, naming each',
    shownBy: [[capture, 'writes nothing of a batch in which an end node is missing']],
  },
  {
    id: 'G3',
    sentence: 'a batch taken twice is the batch taken once',
    shownBy: [['unit/store/graph/write-batch.test.ts', 'taken twice is the batch taken once']],
  },
  { id: 'G4', sentence: 'integers and floats stay apart', shownBy: [[capture, 'keeps integers and floats apart']] },
  {
    id: 'G5',
    sentence: 'a decision asked after a capture was answered sees it',
    shownBy: [
      [capture, 'joins nodes, and the next decision sees it'],
      ['unit/store/graph/environment.test.ts', 'opened right after a write was acknowledged sees it'],
    ],
  },
  {
    id: 'G6',
    sentence: 'a capture takes 1 to 250 items',
    shownBy: [[capture, 'refuses a batch of none and of more than 250']],
  },
  {
    id: 'G7',
    sentence: 'the node of an application is joined to business data by a captured relationship',
    shownBy: [[capture, 'own node to business data']],
  },
  {
    id: 'G8',
    sentence: 'deletions take along what hangs on the element, and what is not there is no error',
    shownBy: [
      [deletions, 'takes their relationships along, and answers the ids they had'],
      [deletions, 'is no error where there is nothing: the id is empty'],
      [deletions, 'ends what they granted at once'],
    ],
  },
  {
    id: 'G9',
    sentence: 'an answer to a capture means that it is on disk, and every worker sees it',
    shownBy: [
      ['process/cli/kill.test.ts', 'loses no acknowledged batch and shows no half batch'],
      [together, 'is seen by the next request to another'],
    ],
  },
  {
    id: 'G10',
    sentence: 'properties of nodes and relationships, and fields of their metadata, are deleted one by one',
    shownBy: [
      [deletions, 'removes what is named, keeps the rest, and moves the node’s update time'],
      [deletions, 'removes fields of either kind, keeps the value, and moves the times of property and node'],
      [deletions, 'or some of their properties'],
    ],
  },
  {
    id: 'G11',
    sentence: 'what only the service writes, nobody deletes',
    shownBy: [
      [deletions, 'own nodes alone'],
      [deletions, 'refuses the fields that every element has'],
    ],
  },
  {
    id: 'G12',
    sentence: 'a node with a location has its data there and a proxy without any in the global graph; they go together',
    shownBy: [
      [composite, 'has its data there, and a proxy without any in the global graph'],
      [composite, 'is deleted with its proxy, and with the relationships of both'],
      [proxies, 'have one proxy for each node, whatever is written and wherever a crash comes in between'],
    ],
  },
  {
    id: 'G13',
    sentence: 'relationships join locations with `use_global_db`, and stay in one constituent without it',
    shownBy: [
      [composite, 'joins nodes of any locations with `use_global_db`'],
      [composite, 'between constituents is refused without `use_global_db`'],
      [composite, 'writes nothing of a batch over several constituents in which an end is missing in one'],
    ],
  },
  {
    id: 'G14',
    sentence: 'an unknown location is refused by its logical name, and no answer names a database',
    shownBy: [
      [composite, 'is refused by'],
      [composite, 'nor does the composite database take nodes'],
    ],
  },
  {
    id: 'G15',
    sentence: 'what a crash leaves between two environments is repaired by the next start, or the next write',
    shownBy: [
      [compositeKill, 'a node captured by a process that lives on has its proxy'],
      [compositeKill, 'a start makes the proxy of what was captured'],
    ],
  },
  {
    id: 'G16',
    sentence: 'a mapping may gain locations, and loses none that holds data',
    shownBy: [
      [composite, 'may bring further locations, which can be used as soon as it is stored'],
      [composite, 'takes no location away that holds data'],
    ],
  },
  { id: 'D1', sentence: 'the default is deny', shownBy: [[access, 'denies what is unknown: node, type, action']] },
  {
    id: 'D2',
    sentence: 'a search contains x exactly when the evaluation of x is true',
    shownBy: [
      [access, 'contains x exactly when the evaluation of x is true'],
      ['scenarios/scenarios.test.ts', 'searches, evaluates and agrees with the reference for every pair'],
    ],
  },
  {
    id: 'D3',
    sentence: 'input parameters change the decision of one policy',
    shownBy: [[access, 'decides by the input parameter']],
  },
  {
    id: 'D4',
    sentence: 'a missing parameter is named',
    shownBy: [[access, 'tells which input parameter is missing']],
  },
  {
    id: 'D5',
    sentence: 'properties of the request are bound as parameters',
    shownBy: [[access, 'binds the properties of the request']],
  },
  {
    id: 'D6',
    sentence: 'a policy is used when it has one of the tags asked for',
    shownBy: [[access, 'uses only policies with one of the tags asked for']],
  },
  {
    id: 'D7',
    sentence: 'the agent key comes in its header, else in Authorization',
    shownBy: [
      [access, 'takes the key from its header, else from Authorization'],
      [access, 'refuses a key whose agent lacks the permission'],
    ],
  },
  {
    id: 'D8',
    sentence: 'a request identifier comes back on every answer',
    shownBy: [
      ['unit/http/error-response.test.ts', 'keeps what the caller sent'],
      [server, 'come back on every refusal'],
    ],
  },
  {
    id: 'D9',
    sentence: 'a fault inside one policy means that this policy does not grant',
    shownBy: [[access, 'denies where the policy faults, and tells the log']],
  },
  {
    id: 'D10',
    sentence: 'an empty search is an empty list',
    shownBy: [[access, 'answers an empty list where nothing matches']],
  },
  {
    id: 'D11',
    sentence: 'a filter decides by tokens and parameters, in three-valued logic, and gives its advice',
    shownBy: [
      ['unit/policy/policy-filter.test.ts', 'what an absent claim leaves open stays open under NOT'],
      ['http/decisions/user-tokens.test.ts', 'are asked by filters, whose advice comes back'],
    ],
  },
  {
    id: 'D12',
    sentence: 'a location parameter runs the condition there; the physical name is never told',
    shownBy: [
      ['http/decisions/locations.test.ts', 'is run where the caller says, on every call'],
      ['http/decisions/locations.test.ts', 'no answer and no line of the log names a physical database'],
    ],
  },
  {
    id: 'D20',
    sentence: 'with a token, a 2.0 policy grants its subject alone, and a 3.0 policy refuses another subject',
    shownBy: [
      ['http/decisions/user-tokens.test.ts', 'is the only one whom a 2.0 policy grants anything'],
      ['http/decisions/user-tokens.test.ts', 'is the only one who may be asked about where a 3.0 policy decides'],
    ],
  },
  {
    id: 'D14',
    sentence: 'a search is narrowed by a token, but for that of subjects',
    shownBy: [['http/decisions/user-tokens.test.ts', 'narrows searches for resources and actions']],
  },
  {
    id: 'D15',
    sentence: 'the policies in force are listed by subject type',
    shownBy: [['http/authzen/searches.test.ts', 'are listed by subject type, as documents with their tags']],
  },
  {
    id: 'D16',
    sentence: 'an explanation decides as the evaluation does, and says why',
    shownBy: [['http/decisions/explain.test.ts', 'shows the way of a permit, and says of every other policy why']],
  },
  {
    id: 'D17',
    sentence: 'the decision log holds what was answered, with masked parameters, under the identifier of the request',
    shownBy: [
      ['http/decisions/decision-log.test.ts', 'holds who asked what, and what was answered, with masked parameters'],
    ],
  },
  {
    id: 'D18',
    sentence: 'searches, pages, batches, explanations and evaluations agree; a revoke is seen by the next decision',
    shownBy: [
      ['oracle/decision-consistency.test.ts', 'agree for every pair of a generated world'],
      ['oracle/decision-consistency.test.ts', 'is seen by the very next decision'],
    ],
  },
  {
    id: 'F1',
    sentence: 'a create answers the five authorship fields and an ETag',
    shownBy: [[config, 'answers the five authorship fields and an ETag']],
  },
  {
    id: 'F2',
    sentence: 'an update with a stale ETag changes nothing',
    shownBy: [[config, 'with a stale one changes nothing']],
  },
  {
    id: 'F3',
    sentence: 'a name is unique in its project',
    shownBy: [[config, 'a name that is taken in the project']],
  },
  {
    id: 'F4',
    sentence:
      'keys are shown once and stored as a hash; secrets are never read back, kept in clear or sent to another place',
    shownBy: [
      ['unit/identity/agent-key.test.ts', 'is told in the create answer alone'],
      ['unit/identity/agent-key.test.ts', 'is not in the files, neither whole nor its secret part'],
      [config, 'reads back without its password'],
      ['unit/config/service.moved-secrets.test.ts', 'is told of with everything that moves it'],
      ['unit/config/service.moved-secrets.test.ts', 'the key of an event topic is required again for another endpoint'],
      ['unit/config/service.moved-secrets.test.ts', 'are required again, each of them, for another provider'],
      ['unit/config/service.moved-secrets.test.ts', 'the password of a database is required again for another address'],
    ],
  },
  {
    id: 'F5',
    sentence: 'service accounts sign bearer tokens of 2 minutes to 24 hours',
    shownBy: [
      ['unit/identity/service-account.test.ts', 'lives 2 minutes to 24 hours'],
      ['unit/identity/service-account.test.ts', 'that its account signed for itself is as good'],
    ],
  },
  {
    id: 'F6',
    sentence: 'a project is PENDING until its graph is there, then ACTIVE or FAILED',
    shownBy: [
      [provisioning, 'is PENDING until its graph is there, then ACTIVE'],
      [provisioning, 'is FAILED, the log says why'],
    ],
  },
  {
    id: 'F7',
    sentence: 'a policy that does not compile is refused with line, column, found, expected and a caret',
    shownBy: [
      [policies, 'for a condition that does not parse, with line, column'],
      [server, 'line, column and a caret'],
    ],
  },
  {
    id: 'F8',
    sentence: 'a DRAFT may hold what does not compile',
    shownBy: [[policies, 'as a DRAFT may hold anything but too much']],
  },
  {
    id: 'F9',
    sentence: 'a key ends at its expire_time',
    shownBy: [
      [server, 'ends a key at its expire_time and a token at its exp'],
      ['unit/identity/agent-key.test.ts', 'ends at its expire_time, to the millisecond'],
    ],
  },
  {
    id: 'F11',
    sentence: 'every kind is created, read by id and by name, listed, updated and deleted in the same way',
    shownBy: [
      [battery, 'every kind has its sample'],
      [battery, 'read by name: with project_id or location'],
      [battery, 'list: of its scope, with search and full_fetch'],
      [battery, 'refuses each wrong member by its path'],
    ],
  },
  {
    id: 'F12',
    sentence: 'an update keeps what is null or absent and removes what is empty',
    shownBy: [[battery, 'keeps what is null or absent, removes what is empty']],
  },
  {
    id: 'F13',
    sentence: 'older revisions can be read by their number',
    shownBy: [
      [battery, 'leaves the older revision to be read'],
      [config, 'every revision can be read by its number'],
    ],
  },
  {
    id: 'F14',
    sentence: 'a project has one event sink and one MCP server',
    shownBy: [[battery, 'refuses a second one in the project']],
  },
  {
    id: 'F15',
    sentence: 'a viewer reads and changes nothing',
    shownBy: [[battery, 'a viewer reads and changes nothing: 403']],
  },
  {
    id: 'F16',
    sentence: 'provisioning twice by name changes nothing the second time',
    shownBy: [['http/configuration/repeated-provisioning.test.ts', 'changes nothing the second time']],
  },
  {
    id: 'F17',
    sentence: 'a credentials document holds a ready token and a key to sign further ones with',
    shownBy: [['unit/identity/service-account.test.ts', 'is a document with a key to sign with and a first token']],
  },
  {
    id: 'F18',
    sentence: 'the master key can be replaced, and a replacement that is cut off loses nothing',
    shownBy: [
      ['process/cli/rotate-master-key.test.ts', 'seals every secret anew'],
      ['process/cli/rotate-master-key.test.ts', 'cut off before the new key took its place'],
    ],
  },
  {
    id: 'F19',
    sentence: 'a knowledge query that asks for more than its policy allows is refused when it is stored',
    shownBy: [
      ['unit/context-query/knowledge-query.test.ts', 'that keeps within its policy is stored'],
      ['unit/context-query/knowledge-query.test.ts', 'without a context policy of its project'],
    ],
  },
  {
    id: 'F10',
    sentence: 'settings come from flags, the environment and a file, in this order, and one that is unknown is refused',
    shownBy: [
      ['process/cli/cli.test.ts', 'come from a file, which the environment and flags win over'],
      ['process/cli/cli.test.ts', 'are refused before anything is made of them: a mistyped master key makes no other'],
      ['process/cli/cli.test.ts', 'in a file must be known, and the file must be there'],
    ],
  },
  {
    id: 'D19',
    sentence: 'a 3.0 policy that needs a property which a resolver supplies does not grant, and the log says why',
    shownBy: [
      [externalReads, 'is told as a fault of a 3.0 policy'],
      [externalReads, 'ends when the property gets a value'],
    ],
  },
  {
    id: 'D21',
    sentence:
      'a property that a resolver supplies is never taken for absent, and a search agrees with the check about it',
    shownBy: [
      [externalReads, 'is unknown where it is compared'],
      [externalReads, 'is never taken for absent'],
      [externalReads, 'changes nothing for other properties'],
    ],
  },
  {
    id: 'D23',
    sentence:
      'a policy that faults is told in the log once a minute for each revision and fault, with how often it did',
    shownBy: [
      ['http/decisions/fault-log.test.ts', 'one line in a minute for each policy, revision and fault'],
      ['unit/ops/log-throttle.test.ts', 'at once, then once in a while, with how often it came'],
    ],
  },
  {
    id: 'D22',
    sentence:
      'a string among the input parameters has a limit wherever it stands, in decisions and context queries alike',
    shownBy: [
      ['unit/policy/input-parameters.test.ts', 'is refused at any depth, and the refusal names its place'],
      [server, 'is measured wherever it stands'],
      [
        'http/context-query/execute.test.ts',
        'refuses a string that is a payload, wherever it stands among the parameters',
      ],
    ],
  },
  {
    id: 'C1',
    sentence: 'a record holds the requested paths and aggregates of one row',
    shownBy: [
      ['http/context-query/execute.test.ts', 'gives a person the rows of its own token, path by path'],
      ['http/context-query/execute.test.ts', 'gives aggregates under their names, and filters by them'],
    ],
  },
  {
    id: 'C2',
    sentence: 'pages are row offsets in a stable order, within limits that are told, and the last one is short',
    shownBy: [
      ['http/context-query/execute.test.ts', 'gives pages whose rows joined are the whole, in an order that stays'],
      ['http/context-query/execute.test.ts', 'says which page cannot be asked for'],
    ],
  },
  {
    id: 'C3',
    sentence: 'the policy as it is now holds for each call: 403 beyond it, 404 where query or policy is not in use',
    shownBy: [
      ['http/context-query/execute.test.ts', 'looks at the policy as it is now'],
      ['http/context-query/execute.test.ts', 'finds a query by its name too, and none that is not there'],
    ],
  },
  {
    id: 'C4',
    sentence: 'a person needs a token and an application none; nobody sends what the service fills in',
    shownBy: [
      ['http/context-query/execute.test.ts', 'asks for a token where the subject is a person, and for every parameter'],
      ['http/context-query/execute.test.ts', 'needs no token for an application, and fills in which one asks'],
    ],
  },
  {
    id: 'C5',
    sentence: 'a filter that rejects leaves no rows with status 200, and says of the graph what the reference says',
    shownBy: [
      ['http/context-query/execute.test.ts', 'gives a person the rows of its own token, path by path'],
      ['http/context-query/filters.test.ts', 'takes parameters, members of them, and lists of them'],
      ['http/context-query/filters.test.ts', 'never reads a value as text of the query'],
      ['oracle/context-filters.test.ts', 'gives the rows that the reference gives, and no others'],
    ],
  },
  {
    id: 'C26',
    sentence: 'a query is filtered by nothing that its policy does not let be read, but for whole ids',
    shownBy: [
      ['http/context-query/filters.test.ts', 'is refused where it stands, and taken where the policy has it'],
      ['http/context-query/filters.test.ts', 'is refused when its policy is narrowed, like a path that it asks for'],
    ],
  },
  {
    id: 'C6',
    sentence: 'a token filter that does not surely hold answers 403 with the advice of its policy',
    shownBy: [
      ['http/context-query/execute.test.ts', 'answers 403 with the advice of the policy where the token filter fails'],
    ],
  },
  {
    id: 'C7',
    sentence: 'an execution ends with 408 when its time is over, which `batch_read` makes longer',
    shownBy: [['http/context-query/execute.test.ts', 'ends it with 408']],
  },
  {
    id: 'C8',
    sentence:
      'a context policy that cannot be run, or a query for what its policy does not bind, is refused when stored',
    shownBy: [
      ['unit/policy/compile-context.test.ts', 'may name all that the facts name'],
      ['unit/context-query/knowledge-query.test.ts', 'what is reserved for the service is written by no query'],
    ],
  },
  {
    id: 'C20',
    sentence: 'a property with `external_value` is read from its resolver, after the graph was read and closed',
    shownBy: [
      [external, 'wherever in the record it stands'],
      [external, 'a capture goes on meanwhile'],
      [external, 'with the newest configuration'],
    ],
  },
  {
    id: 'C21',
    sentence: 'what fills a placeholder chooses no host, path or member, and takes no place that the graph fills',
    shownBy: [
      [templates, 'choose another host, path, query or line'],
      [templates, 'however the URL is written'],
      [templates, 'end its string or add a member'],
      [external, 'one that would lead elsewhere'],
      [external, 'with a filled payload, and headers of the resolver'],
    ],
  },
  {
    id: 'C22',
    sentence: 'where an upstream fails the row stays, its value is null, and a warning without secrets says why',
    shownBy: [
      [external, 'ends as null with its reason'],
      [external, 'an address that is not for the service'],
      [external, 'a name that stands for this machine is not called'],
      [external, 'told in the log now and then'],
    ],
  },
  {
    id: 'C23',
    sentence: 'calls of resolvers are bounded in number, at once and in time, and kept only as the setting says',
    shownBy: [
      [external, 'so many calls at once, and so many for one execution'],
      [external, 'holds for its resolvers'],
      [external, 'kept for equal requests as long as the setting says'],
    ],
  },
  {
    id: 'C24',
    sentence:
      'a property written with a resolver of a parameter is supplied before the transaction, with its source, or nothing is written',
    shownBy: [
      [external, 'supplied once, before the transaction, and tells its source'],
      [external, 'not asked for where no row matches'],
      [external, 'leaves nothing written where it cannot be supplied'],
    ],
  },
  {
    id: 'D13',
    sentence: 'with a user token a 2.0 policy grants its subject alone, and another subject on a 3.0 policy is 403',
    shownBy: [
      [userTokens, 'is for the subject of the token, and no other'],
      ['http/decisions/user-tokens.test.ts', 'an equal id of another type is another subject'],
    ],
  },
  {
    id: 'A1',
    sentence: 'a user token is taken when a configuration of the project has its issuer and audience, and it holds',
    shownBy: [
      [tokens, 'stands for the node of its subject, with all that it says'],
      [tokens, 'is taken by any of the algorithms with a public key'],
      [tokens, 'by another key of the same name is refused'],
      [tokens, 'over other claims is refused'],
    ],
  },
  {
    id: 'A2',
    sentence: 'the subject is the claim that sub_claim names, and perform_upsert makes its node at the first use',
    shownBy: [
      [tokens, 'names its subject by another claim where the configuration says so'],
      [userTokens, 'makes the node of a subject at its first use, an identity with its mapped claims'],
      [userTokens, 'mends what differs and leaves what it does not know'],
      [userTokens, 'writes nothing where nothing is new'],
    ],
  },
  {
    id: 'A3',
    sentence: 'claims are seen under their own and their mapped names, types kept',
    shownBy: [[tokens, 'has its claims under the mapped names beside their own, types kept']],
  },
  {
    id: 'A4',
    sentence: 'whoami tells the node type of the configuration and the subject of the token, and needs a token',
    shownBy: [
      [userTokens, 'answers the node type of the configuration and the subject of the token, and nothing else'],
      [userTokens, 'is empty on both sides where the configuration names no node type'],
      [userTokens, 'needs a user token, the right one, and an agent that may ask'],
    ],
  },
  {
    id: 'A5',
    sentence: 'an issuer that rotates its keys is followed, and one that is out is believed for a while',
    shownBy: [
      [tokens, 'by a key that the issuer has taken on since is taken, after one more look'],
      [tokens, 'by keys that nobody has costs the issuer five looks at most, and then one in five seconds'],
      [tokens, 'is believed by its last keys for a day, and then no more'],
    ],
  },
  {
    id: 'A6',
    sentence:
      'online validation asks the issuer, no longer than cache_ttl and the token last, and never with an expired token',
    shownBy: [
      [tokens, 'its answer counts for as long as the configuration says'],
      [tokens, 'its answer counts no longer than the token'],
      [tokens, 'it is asked each time without a time to live'],
      [userTokens, 'answers for an opaque token until it is revoked'],
    ],
  },
  {
    id: 'A7',
    sentence: 'a change of the configuration holds for the next token',
    shownBy: [
      [tokens, 'is forgotten the moment the configuration changes, and not with a neighbour'],
      [tokens, 'does not outlive a change that comes while an issuer is being asked'],
    ],
  },
  {
    id: 'A8',
    sentence: 'a delegation token rides beside the user token, checked like it and of the same subject',
    shownBy: [
      [tokens, 'of the same subject says who acts'],
      [tokens, 'of another subject, or of none, is refused in those words'],
      ['unit/http/authenticate.test.ts', 'a delegation token without a token of the user is refused'],
    ],
  },
  {
    id: 'A9',
    sentence: 'outgoing calls go to public addresses over TLS, and to what the operator lists',
    shownBy: [
      [upstream, 'no address but a public one is called, however it is written'],
      [upstream, 'a name is refused for what it stands for'],
      [upstream, 'is called without TLS too: a name, an address, a range'],
      [upstream, 'the certificate must be for the name that was asked for, though its address is dialled'],
      [upstream, 'that redirects is not followed'],
    ],
  },
  {
    id: 'W1',
    sentence: 'a knowledge query updates what the pattern binds and makes what it names, once for each matched row',
    shownBy: [
      [writes, 'updates the nodes of a variable in every row'],
      [writes, 'makes nodes and relationships, which are read by their names'],
      [writes, 'merges by type and external id'],
      [writes, 'runs for an application without a token'],
    ],
  },
  {
    id: 'W2',
    sentence:
      'written elements are read by their names in the same call, and nothing beyond what the policy lets be read',
    shownBy: [
      [writes, 'which are read by their names in the same call'],
      [writes, 'tells nothing of a node that it met under a name of its own'],
    ],
  },
  {
    id: 'W3',
    sentence: 'metadata of properties comes in arrays, and values are literals, parameters and claims',
    shownBy: [
      [writes, 'writes property metadata from arrays of entries'],
      [writes, 'where a value is missing, or none that a property holds'],
      [writes, 'where an external id or a label cannot be one'],
    ],
  },
  {
    id: 'W4',
    sentence: 'elements and properties are deleted for each row, and what is not there is no error',
    shownBy: [
      [writes, 'deletes properties, relationships and nodes'],
      [writes, 'leaves alone what an optional match did not find'],
    ],
  },
  {
    id: 'W5',
    sentence: 'a write whose pattern matches no row writes nothing and answers 200 with empty data',
    shownBy: [[writes, 'writes nothing where the pattern matches no row']],
  },
  {
    id: 'W6',
    sentence:
      'relationship types and the labels of their ends are those of the policy, by what would really be written',
    shownBy: [
      [writes, 'where the labels of one row’s nodes are not those of the policy'],
      [writes, 'where a row has no node for the end of a relationship'],
    ],
  },
  {
    id: 'W7',
    sentence: 'names of the service and protected names are not written or deleted',
    shownBy: [
      [writes, 'where a variable turns out to be a node or a relationship of the service'],
      ['unit/context-query/knowledge-query.test.ts', 'what is reserved for the service is written by no query'],
    ],
  },
  {
    id: 'W8',
    sentence: 'a query that writes has one page: all matched rows, or a refusal',
    shownBy: [[writes, 'where more rows match than the page holds']],
  },
  {
    id: 'W9',
    sentence: 'read and write are one transaction: of calls that write at once none loses what another wrote',
    shownBy: [
      ['process/workers/context-write-races.test.ts', 'let one of fifty claim the free seat, whoever else writes'],
      ['process/workers/context-write-races.test.ts', 'lose no update'],
      ['process/workers/context-write-races.test.ts', 'in all processes'],
      ['unit/context-query/run-writes.test.ts', 'is read again within the transaction'],
      ['unit/context-query/run-writes.test.ts', 'gives up when its time is over, with nothing written'],
      ['unit/context-query/run-writes.test.ts', 'keeps nothing of a call that a fault ends'],
      ['unit/store/graph/batch-view.test.ts', 'reads lists and ranges of the transaction too'],
    ],
  },
  {
    id: 'W10',
    sentence: 'no write is outside of the policy, whatever the query asks; a refusal leaves no trace',
    shownBy: [
      [
        'oracle/context-writes.test.ts',
        'random queries write nothing that their random policies do not let be written',
      ],
    ],
  },
  {
    id: 'E1',
    sentence: 'a wrong shape is refused with the place of each fault',
    shownBy: [
      [access, 'refuses wrong shapes with the place of each'],
      [server, 'says where JSON is malformed'],
    ],
  },
  {
    id: 'E2',
    sentence: 'a body above the limit is refused, declared or not',
    shownBy: [
      [server, 'refuses a body above the limit by its declared length'],
      [server, 'declares no length, before it ends'],
    ],
  },
  {
    id: 'E3',
    sentence: 'a broken promise of our own tells the caller nothing',
    shownBy: [['unit/http/error-response.test.ts', 'tells nothing of a broken promise of our own']],
  },
  {
    id: 'E9',
    sentence: 'a compressed body is refused with 415, wherever a body is taken',
    shownBy: [
      [server, 'refuses a compressed body, on every route that takes one'],
      [mcpSecurity, 'that is compressed is a 415 too'],
    ],
  },
  {
    id: 'O1',
    sentence: 'the interface describes itself in OpenAPI 3.1 and 3.2, and every answer is as described',
    shownBy: [
      ['unit/http/openapi/document.test.ts', 'holds every route, each under a name of its own'],
      ['unit/http/openapi/document.test.ts', 'is held against every answer of these tests'],
      ['http/fuzz.test.ts', 'get answers that it describes'],
    ],
  },
  {
    id: 'O2',
    sentence: 'no secret stands in an answer after its first, or in the log',
    shownBy: [
      ['http/fuzz.test.ts', 'no secret there or in the log'],
      ['unit/ops/log.test.ts', 'does not hold a member whose name says that it is secret'],
    ],
  },
  {
    id: 'O3',
    sentence: 'a renewed certificate is shown without a restart',
    shownBy: [['http/operations/operations.test.ts', 'is shown, renewed without a restart']],
  },
  {
    id: 'O4',
    sentence: 'pages ask from configured origins alone, and an agent as often as its limit lets it',
    shownBy: [
      ['http/operations/operations.test.ts', 'may ask when they are of a configured one'],
      ['http/operations/operations.test.ts', 'an agent asks as often as its limit lets it'],
    ],
  },
  {
    id: 'O5',
    sentence: 'damage decides nothing, and the operator is told of each place once in a while',
    shownBy: [
      ['http/operations/damaged-value.test.ts', 'lets nothing be decided, and is told once however often it is met'],
      ['http/operations/damaged-value.test.ts', 'is told again while it is still met'],
    ],
  },
  {
    id: 'O6',
    sentence: 'a connection that is silent for less than the idle time is there for the next request',
    shownBy: [['unit/http/server.idle-connection.test.ts', 'is not ended before its time, whenever the runtime looks']],
  },
  {
    id: 'M1',
    sentence:
      'MCP is spoken in the revisions 2025-11-25 with sessions and 2026-07-28 without, to the official clients of both lines',
    shownBy: [
      [mcpClients, 'of the first line make the full tour in a session, and end it'],
      [mcpClients, 'of the second line make the full tour'],
      ['process/mcp-inspector.test.ts', 'finds no fault in the schemas of the tools'],
    ],
  },
  {
    id: 'M2',
    sentence:
      'header and body agree in the stateless revision, and a difference is told by the code of the specification',
    shownBy: [
      [mcpWire, 'refuses a request'],
      [mcpWire, 'names the revisions that it has to one that asks for another'],
    ],
  },
  {
    id: 'M3',
    sentence: 'initialize negotiates, and a session is asked for after it',
    shownBy: [
      [mcpWire, 'echoes the revisions that it serves, and answers any other with its newest'],
      [mcpWire, 'asks for a session: 400 without one, 404 with one that is none'],
    ],
  },
  {
    id: 'M4',
    sentence:
      'a session is of its project, issuer and subject alone, expires, ends with DELETE, and costs nothing while it is open',
    shownBy: [
      [mcpSecurity, 'of another subject, of another project or with a changed letter is none'],
      [mcpSecurity, 'expires'],
      [together, 'is an MCP session to all of them'],
      [mcpSecurity, 'costs nothing while it is open'],
      [mcpWire, 'ends with DELETE once'],
    ],
  },
  {
    id: 'M5',
    sentence:
      'tools ask for the holder of the token with the permissions of the bound agent, and fail with a text that helps',
    shownBy: [
      [mcpWire, 'run under the token: each sees their own, and a write is one'],
      [mcpWire, 'tell'],
      [mcpSecurity, 'asks with the permissions of its agent, as they are at the moment'],
    ],
  },
  {
    id: 'M6',
    sentence:
      'a token is taken by the configuration that the MCP server names alone, and asked for with a challenge that names the metadata',
    shownBy: [
      [mcpSecurity, 'that is missing is asked for, without an error code'],
      [mcpSecurity, 'is taken by the configuration that the server names alone'],
      [mcpWire, 'name the endpoint, the issuer and the scopes, for pages of every origin'],
      ['http/mcp/discovery.test.ts', 'of the first line finds the issuer, and gets a token for this address'],
      ['http/mcp/discovery.test.ts', 'of the second line does'],
    ],
  },
  {
    id: 'M9',
    sentence:
      'a token whose scope a policy finds wanting is answered with 403 and the scopes to ask for, any other advice with a text',
    shownBy: [
      [mcpSecurity, 'is answered with 403 and the scopes to ask for where it is the scope, else with a text'],
      ['http/mcp/discovery.test.ts', 'gets one with more scopes where a policy asks for more, and repeats its call'],
    ],
  },
  {
    id: 'M7',
    sentence: 'pages of foreign origins may not ask, and a project without an enabled MCP server answers 404',
    shownBy: [
      [mcpSecurity, 'of a foreign origin may not ask, one of this machine may'],
      [mcpSecurity, 'that is not enabled is not there, and neither is one of another project'],
    ],
  },
  {
    id: 'M8',
    sentence: 'changes of the knowledge queries are told to MCP clients that listen, each to those of its own project',
    shownBy: [
      [mcpListen, 'of the first line hear in a session that a query was made, and read the new list'],
      [mcpListen, 'of the second line hear it'],
      [mcpListen, 'is acknowledged first, with what can be told of it, and every message has its id'],
      [mcpListen, 'hears of its own project alone'],
      [together, 'is an MCP session to all of them, whose stream tells of it'],
    ],
  },
  {
    id: 'M10',
    sentence: 'whoever listens does so as long as they would be let in anew, within bounds, and holds up no stop',
    shownBy: [
      [mcpListen, 'ends in good order with its token'],
      [mcpListen, 'ends with the session'],
      [mcpListen, 'is ended by no other method than DELETE, and HEAD is answered as GET would be'],
      [mcpListen, 'ends when the server is disabled, and when it takes other tokens'],
      [mcpListen, 'is one of so many of a person: more are refused until one is left'],
      [mcpListen, 'that nobody reads makes room for another'],
      [mcpListen, 'keeps no more for a slow reader than what they have asked for'],
      [mcpListen, 'ends in good order when the service stops, and holds it up by nothing'],
    ],
  },
]

export const gaps: readonly Gap[] = []
