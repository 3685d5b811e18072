// The requirements that the service meets: each with an id, one sentence and the tests that prove it.
// requirements.test.ts fails if a test that is named here no longer exists.

import { auditRequirements } from './audit-requirements.ts'
import { authorRequirements } from './author-requirements.ts'
import { authzenPoints } from './authzen-requirements.ts'
import { consoleRequirements } from './console-requirements.ts'
import { eventRequirements } from './event-requirements.ts'
import { matchingRequirements } from './matching-requirements.ts'
import { trustRequirements } from './trust-requirements.ts'

export interface Requirement {
  /** `REQ-`, the letter of a chapter and a number: R runtime, G graph, D decisions, F configuration, A authentication,
   * C context queries, W their writes, E errors, O operations, M the Model Context Protocol, V events, L the audit log, T trust scores, P entity matching pipelines, U users that write policies and programs. `AZ-`: the AuthZEN checklist. */
  readonly id: string
  readonly sentence: string
  /** A file below test/, and a part of the test's title. */
  readonly shownBy: readonly (readonly [file: string, name: string])[]
}

export interface Gap {
  readonly id: string
  readonly sentence: string
  /** Why it is not met yet, and what happens instead. */
  readonly reason: string
}

const access = 'http/decisions/access.test.ts'
const server = 'unit/http/server.test.ts'
const sharedState = 'process/workers/shared-state.test.ts'
const capture = 'http/capture/capture.test.ts'
const deletions = 'http/capture/deletions.test.ts'
const composite = 'http/capture/composite-projects.test.ts'
const compositeKill = 'process/store/composite-kill.test.ts'
const proxies = 'unit/store/tenancy/composite.test.ts'
const config = 'unit/config/service.test.ts'
const nameWarnings = 'http/configuration/name-warnings.test.ts'
const policyVersions = 'http/configuration/policy-versions.test.ts'
const crud = 'http/configuration/crud-conformance.test.ts'
const provisioning = 'unit/config/provisioning.test.ts'
const policies = 'unit/policy/authorization-policy.test.ts'
const tokens = 'unit/identity/user-tokens.test.ts'
const userTokens = 'http/tokens/user-tokens.test.ts'
const writes = 'http/context-query/writes.test.ts'
const repeated = 'http/context-query/repeated-upserts.test.ts'
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
  ...eventRequirements,
  ...auditRequirements,
  ...trustRequirements,
  ...matchingRequirements,
  ...authorRequirements,
  ...consoleRequirements,
  {
    id: 'REQ-R1',
    sentence:
      'two commands of the README start the service, and the requests that it prints return the printed answers',
    shownBy: [['process/demo.test.ts', 'prints a permit, a denial and a search, and each has the printed answer']],
  },
  {
    id: 'REQ-R2',
    sentence: 'engine and store decide in process, without a server',
    shownBy: [['process/package.test.ts', 'runs the example of the README under %s']],
  },
  {
    id: 'REQ-R3',
    sentence: 'a stop lets running requests finish and exits with 0',
    shownBy: [
      [server, 'lets a running request finish'],
      ['process/cli/cli.test.ts', 'prints a token on an empty folder, responds, and exits with 0 on SIGTERM'],
    ],
  },
  {
    id: 'REQ-R4',
    sentence: 'after a kill no acknowledged write is lost and no batch is visible in part',
    shownBy: [
      [
        'process/cli/kill.test.ts',
        'a server killed during a capture load loses no acknowledged batch and shows no partial batch',
      ],
    ],
  },
  {
    id: 'REQ-R11',
    sentence:
      'a full disk refuses writes without corrupting data; reads continue, and writes succeed again once there is space',
    shownBy: [
      [
        'process/store/disk-full.test.ts',
        'a batch is refused as a whole, existing data can be read, and writing continues when there is space',
      ],
      [
        'process/store/disk-full.test.ts',
        'a batch or a load is refused as a whole as on a full disk, and existing data can be read',
      ],
      [
        'process/workers/full-disk.test.ts',
        'returns 507 for what it cannot store, continues deciding, and stores again when there is space',
      ],
    ],
  },
  {
    id: 'REQ-R12',
    sentence: 'corrupted data causes an error, never a different decision; `verify` finds it',
    shownBy: [
      ['http/operations/damaged-value.test.ts', 'prevents decisions, and is logged once however often it is read'],
      ['process/cli/verify.test.ts', 'names the first corrupted key, of a graph and of the configuration'],
    ],
  },
  {
    id: 'REQ-R17-import',
    sentence: 'an import accepts the elements that a capture accepts, and resumes only the same file where it stopped',
    shownBy: [
      ['unit/transfer/lines/parse-line.test.ts', 'an import line is accepted exactly if a capture accepts the item'],
      [
        'process/transfer/export-import.test.ts',
        'a node is imported into the part where a capture would put it, and into no other',
      ],
      [
        'process/transfer/import-resume.test.ts',
        'after a complete import, a second import of the same file skips no line',
      ],
      [
        'process/transfer/import-resume.test.ts',
        'a file that differs before the interruption is not resumed, and is imported on request',
      ],
      ['process/transfer/import-resume.test.ts', 'an import that wrote nothing leaves no data'],
      [
        'process/transfer/import-resume.test.ts',
        'the data of an abandoned import is not resumed by a later import of the same file',
      ],
    ],
  },
  {
    id: 'REQ-R13',
    sentence: 'a folder of an older layout is refused with the command to run, and a migration is atomic',
    shownBy: [
      ['unit/store/lmdb/migrate-folder.test.ts', 'is refused with the command to run, and left unchanged'],
      ['unit/store/lmdb/migrate-folder.test.ts', 'is migrated with all its data, and only once'],
      [
        'unit/store/lmdb/migrate-folder.test.ts',
        'between its two renames is reported when the folder is opened, and can be completed',
      ],
    ],
  },
  {
    id: 'REQ-R14',
    sentence: 'the cost of writing to a node and of checking it does not grow with its number of relationships',
    shownBy: [
      ['process/store/adjacency-edits.super-nodes.test.ts', 'costs the same with 20,000 relationships as with 2,000'],
    ],
  },
  {
    id: 'REQ-R15',
    sentence: 'a graph outgrows its initial address space without a restart',
    shownBy: [
      [
        'unit/store/graph/environment.map-size.test.ts',
        'a graph grows beyond its initial address space, while it is read and by one batch too',
      ],
    ],
  },
  {
    id: 'REQ-R16',
    sentence: 'a graph beyond the resources of the process is refused, and the open graphs keep working',
    shownBy: [
      ['process/store/many-stores.test.ts', 'a store beyond the address space is refused, until another one is closed'],
      [
        'process/store/many-stores.test.ts',
        'a store beyond the file limit of the process is refused, and the others are read and written',
      ],
    ],
  },
  {
    id: 'REQ-R5',
    sentence: 'a backup of a served folder restores a consistent snapshot of all environments of a project',
    shownBy: [
      [
        'process/transfer/backup.test.ts',
        'a backup under write load restores a consistent snapshot of all environments',
      ],
      [
        'process/transfer/backup.test.ts',
        'a served folder is backed up while it is served, and the restored one has the same responses',
      ],
    ],
  },
  {
    id: 'REQ-R6',
    sentence: 'a backup that is damaged, truncated or has forged paths restores nothing',
    shownBy: [
      [
        'process/transfer/backup.test.ts',
        'a backup that was truncated or changed anywhere is refused, and nothing is left of it',
      ],
      ['process/transfer/backup.test.ts', 'a foreign archive writes nothing outside, and is refused with a reason'],
    ],
  },
  {
    id: 'REQ-R7',
    sentence:
      'an import restores exactly what was exported; a killed import resumes where it stopped and applies nothing twice',
    shownBy: [
      ['process/transfer/export-import.test.ts', 'an exported graph is imported, and exported again, byte by byte'],
      [
        'process/transfer/export-import.test.ts',
        'an import that is killed again and again resumes each time, and its folder is not served until it is complete',
      ],
      [
        'process/transfer/export-import.test.ts',
        'an invalid line is reported with its number and its field, and its batch is not written',
      ],
    ],
  },
  {
    id: 'REQ-R8',
    sentence: 'a bulk load produces the same graph as ordinary batches',
    shownBy: [
      ['unit/store/graph/bulk-batch.test.ts', 'leaves what ordinary batches leave, and the checker finds no error'],
    ],
  },
  {
    id: 'REQ-R9',
    sentence: 'the next request to any worker sees what another worker acknowledged: no stale permit',
    shownBy: [
      [sharedState, 'is seen by the next request to another: writes, revoked relationships and policies'],
      [sharedState, 'refuses a revoked key at another at once'],
      [sharedState, 'deletes a project: another returns 404 at once, and closes its files'],
      [sharedState, 'lose no update of one document'],
    ],
  },
  {
    id: 'REQ-R10',
    sentence:
      'a killed worker is replaced without losing an acknowledged write, and another worker takes over its tasks',
    shownBy: [
      [
        'process/workers/restarts.test.ts',
        'is replaced without losing an acknowledged write; the others continue, and provision, in the meantime',
      ],
      ['process/workers/restarts.test.ts', 'end by themselves, and the folder and the port are free then'],
      ['process/store/leader-election.test.ts', 'one process has a task, and when it is killed another takes it over'],
      [
        'process/store/stale-readers.test.ts',
        'a file does not grow without limit because a process was killed while it read',
      ],
    ],
  },
  {
    id: 'REQ-G1',
    sentence: 'a second capture of a node replaces the given properties and keeps the others',
    shownBy: [[capture, 'replaces the given properties and keeps the others']],
  },
  {
    id: 'REQ-G2',
    sentence: 'a relationship with a missing end node refuses the whole batch and names each missing node',
    shownBy: [[capture, 'writes nothing of a batch with a missing end node, and names each missing node']],
  },
  {
    id: 'REQ-G3',
    sentence: 'applying a batch twice gives the same graph as applying it once',
    shownBy: [
      [
        'unit/store/graph/write-batch.test.ts',
        'applying a batch of upserts or deletions twice equals applying it once',
      ],
    ],
  },
  {
    id: 'REQ-G4',
    sentence: 'integers and floats stay distinct',
    shownBy: [[capture, 'keeps integers and floats distinct']],
  },
  {
    id: 'REQ-G5',
    sentence: 'a decision after an answered capture sees it',
    shownBy: [
      [capture, 'connects nodes, and the next decision sees it'],
      ['unit/store/graph/environment.test.ts', 'opened directly after an acknowledged write sees it'],
    ],
  },
  {
    id: 'REQ-G6',
    sentence: 'a capture accepts 1 to 250 items',
    shownBy: [[capture, 'refuses an empty batch and more than 250 items']],
  },
  {
    id: 'REQ-G7',
    sentence: 'a captured relationship can join the node of an application to business data',
    shownBy: [[capture, 'connects the node of the application to business data']],
  },
  {
    id: 'REQ-G8',
    sentence:
      'a deletion also deletes the element’s relationships and properties; deleting a missing element is not an error',
    shownBy: [
      [deletions, 'deletes their relationships too, and returns the former ids'],
      [deletions, 'of a missing node is not an error: the id is empty'],
      [deletions, 'ends what they granted at once; `properties` is ignored'],
    ],
  },
  {
    id: 'REQ-G9',
    sentence: 'an answered capture is on disk, and every worker sees it',
    shownBy: [
      [
        'process/cli/kill.test.ts',
        'a server killed during a capture load loses no acknowledged batch and shows no partial batch',
      ],
      [sharedState, 'is seen by the next request to another: writes, revoked relationships and policies'],
    ],
  },
  {
    id: 'REQ-G10',
    sentence: 'properties of nodes and relationships, and fields of their metadata, can be deleted individually',
    shownBy: [
      [deletions, 'deletes the named ones, keeps the others, and updates the time of the node'],
      [deletions, 'deletes standard and custom fields, keeps the value, and updates the times of property and node'],
      [deletions, 'or some of their properties'],
    ],
  },
  {
    id: 'REQ-G11',
    sentence: 'elements and fields that only the service writes cannot be deleted',
    shownBy: [
      [deletions, 'cannot delete the nodes of the service'],
      [deletions, 'refuses the fields that every element has'],
    ],
  },
  {
    id: 'REQ-G12',
    sentence:
      'a node with a location keeps its data there and a proxy without data in the global graph; both are deleted together',
    shownBy: [
      [composite, 'has its data there, and a proxy without data in the global graph'],
      [composite, 'is deleted with its proxy, and with the relationships of both'],
      [proxies, 'have one proxy for each node, after any writes and a crash at any point'],
    ],
  },
  {
    id: 'REQ-G13',
    sentence: 'relationships join locations with `use_global_db`, and stay within one constituent without it',
    shownBy: [
      [
        composite,
        'connects nodes of any locations with `use_global_db`, and is deleted or loses properties with it too',
      ],
      [composite, 'between constituents is refused without `use_global_db`'],
      [composite, 'writes nothing of a batch over several constituents if an end is missing in one'],
    ],
  },
  {
    id: 'REQ-G14',
    sentence: 'an unknown location is refused by its logical name, and no response names a database',
    shownBy: [
      [composite, 'is refused by'],
      [composite, 'nor can nodes be captured into the composite database'],
    ],
  },
  {
    id: 'REQ-G15',
    sentence: 'the next start, or the next write, repairs what a crash left inconsistent between two environments',
    shownBy: [
      [
        compositeKill,
        'a node captured by a running process has its proxy, although another process was killed before it could create it',
      ],
      [
        compositeKill,
        'a start creates the proxy of a captured node, and removes that of a deleted one, before the first request',
      ],
    ],
  },
  {
    id: 'REQ-G16',
    sentence: 'a mapping can gain locations, but cannot lose one that holds data',
    shownBy: [
      [composite, 'may add locations, which can be used as soon as it is stored'],
      [composite, 'cannot remove a location with data, or change its database'],
    ],
  },
  { id: 'REQ-D1', sentence: 'the default is deny', shownBy: [[access, 'denies unknown entities: node, type, action']] },
  {
    id: 'REQ-D2',
    sentence: 'a search contains x exactly when the evaluation of x is true',
    shownBy: [
      [access, 'contains x exactly when the evaluation of x is true'],
      ['scenarios/every-pair.test.ts', 'searches, evaluates and agrees with the reference for every pair'],
    ],
  },
  {
    id: 'REQ-D3',
    sentence: 'an input parameter can change the decision of a policy',
    shownBy: [[access, 'uses the input parameter']],
  },
  {
    id: 'REQ-D4',
    sentence: 'the error names a missing parameter',
    shownBy: [[access, 'reports a missing input parameter']],
  },
  {
    id: 'REQ-D5',
    sentence: 'properties of the request are bound as parameters',
    shownBy: [[access, 'binds the properties of the request']],
  },
  {
    id: 'REQ-D6',
    sentence: 'a policy is used if it has one of the requested tags',
    shownBy: [[access, 'uses only policies with one of the requested tags']],
  },
  {
    id: 'REQ-D7',
    sentence: 'the agent key is read from its header, else from Authorization',
    shownBy: [
      [access, 'accepts the key in its header, else in Authorization with or without Bearer'],
      [access, 'refuses a key whose agent lacks the permission'],
    ],
  },
  {
    id: 'REQ-D8',
    sentence: 'every response returns the request identifier',
    shownBy: [
      ['unit/http/error-response.test.ts', 'are kept if the caller sent one'],
      [server, 'are returned on every error response'],
    ],
  },
  {
    id: 'REQ-D9',
    sentence: 'a policy that fails at run time does not grant',
    shownBy: [[access, 'denies if the policy fails, and logs it']],
  },
  {
    id: 'REQ-D10',
    sentence: 'an empty search is an empty list',
    shownBy: [[access, 'returns an empty list if nothing matches']],
  },
  {
    id: 'REQ-D11',
    sentence: 'a filter evaluates tokens and parameters in three-valued logic, and a failed filter returns its advice',
    shownBy: [
      ['unit/policy/policy-filter.test.ts', 'an absent claim stays unknown under NOT'],
      ['http/decisions/user-tokens.test.ts', 'are tested by filters, whose advice is returned'],
    ],
  },
  {
    id: 'REQ-D12',
    sentence: 'a location parameter runs the condition at that location; no response names the physical database',
    shownBy: [
      ['http/decisions/locations.test.ts', 'runs at the location of the request, on every call'],
      ['http/decisions/locations.test.ts', 'no response and no line of the log names a physical database'],
    ],
  },
  {
    id: 'REQ-D20',
    sentence: 'with a token, a 2.0 policy grants only to its subject, and a 3.0 policy refuses another subject',
    shownBy: [
      ['http/decisions/user-tokens.test.ts', 'is the only one to whom a 2.0 policy grants anything'],
      ['http/decisions/user-tokens.test.ts', 'is the only accepted subject if a 3.0 policy applies'],
    ],
  },
  {
    id: 'REQ-D14',
    sentence: 'a token narrows resource and action searches, not subject searches',
    shownBy: [
      ['http/decisions/user-tokens.test.ts', 'narrows searches for resources and actions, but not for subjects'],
    ],
  },
  {
    id: 'REQ-D15',
    sentence: 'active policies are listed by subject type',
    shownBy: [
      [
        'http/authzen/searches.test.ts',
        'are listed by subject type, as documents with their tags, with the permission to read them',
      ],
    ],
  },
  {
    id: 'REQ-D16',
    sentence: 'an explanation has the decision of the evaluation and gives the reasons',
    shownBy: [
      [
        'http/decisions/explain.test.ts',
        'shows the matched path of a permit, and for every other policy why it did not grant',
      ],
    ],
  },
  {
    id: 'REQ-D17',
    sentence: 'the decision log records each answer with masked parameters and the request identifier',
    shownBy: [['http/decisions/decision-log.test.ts', 'contains the request and the response, with masked parameters']],
  },
  {
    id: 'REQ-D18',
    sentence: 'searches, pages, batches, explanations and evaluations agree; the next decision sees a revocation',
    shownBy: [
      ['process/oracle/decision-consistency.test.ts', 'agree for every pair of a generated graph'],
      ['process/oracle/decision-consistency.test.ts', 'is visible to the next decision'],
    ],
  },
  {
    id: 'REQ-F1',
    sentence: 'a create returns the five authorship fields and an ETag',
    shownBy: [[config, 'a create returns the five authorship fields and an ETag, and nothing else']],
  },
  {
    id: 'REQ-F2',
    sentence: 'an update with a stale ETag changes nothing',
    shownBy: [[config, 'an update with the current ETag changes it, with a stale one changes nothing']],
  },
  {
    id: 'REQ-F3',
    sentence: 'a name is unique within its project',
    shownBy: [[config, 'a name that is used in the project, whatever the parent; another project may use it']],
  },
  {
    id: 'REQ-F4',
    sentence:
      'keys are shown once and stored as a hash; secrets are never read back, stored in clear text or sent to another address',
    shownBy: [
      ['unit/identity/agent-key.test.ts', 'is returned only by the create'],
      ['unit/identity/agent-key.test.ts', 'is not in the files, neither as a whole nor its secret part'],
      [config, 'reads back without its password, which is stored nowhere in clear text'],
      ['unit/config/service.moved-secrets.test.ts', 'is refused with every change that requires it'],
      ['unit/config/service.moved-secrets.test.ts', 'the key of an event topic is required again for another endpoint'],
      [
        'unit/config/service.moved-secrets.test.ts',
        'the parameters of a signing key are all required again for another provider',
      ],
      ['unit/config/service.moved-secrets.test.ts', 'the password of a database is required again for another address'],
    ],
  },
  {
    id: 'REQ-F5',
    sentence: 'service accounts sign bearer tokens of 2 minutes to 24 hours',
    shownBy: [
      [
        'unit/identity/service-account.test.ts',
        'has a lifetime of 2 minutes to 24 hours, for accounts that have a key',
      ],
      ['unit/identity/service-account.test.ts', 'that its account signed itself is accepted as well'],
    ],
  },
  {
    id: 'REQ-F6',
    sentence: 'a project is PENDING until its graph exists, then ACTIVE or FAILED',
    shownBy: [
      [provisioning, 'a project is PENDING until its graph exists, then ACTIVE, under the same ETag'],
      [
        provisioning,
        'a project whose graph cannot be created is FAILED, the log gives the reason, and an update tries again',
      ],
    ],
  },
  {
    id: 'REQ-F7',
    sentence: 'a policy that does not compile is refused with line, column, found and expected token, and a caret',
    shownBy: [
      [policies, 'for a condition that does not parse, with line, column'],
      [server, 'reports where a policy’s Cypher is wrong: line, column and a caret'],
    ],
  },
  {
    id: 'REQ-F8',
    sentence: 'a DRAFT policy may contain a condition that does not compile',
    shownBy: [[policies, 'can contain anything below the size limit as a DRAFT']],
  },
  {
    id: 'REQ-F9',
    sentence: 'a key expires at its expire_time',
    shownBy: [
      [server, 'ends a key at its expire_time and a token at its exp'],
      ['unit/identity/agent-key.test.ts', 'ends at its expire_time, to the millisecond'],
    ],
  },
  {
    id: 'REQ-F11',
    sentence: 'all kinds support create, read by id and by name, list, update and delete in the same way',
    shownBy: [
      [crud, 'every kind has a sample'],
      [crud, 'read by name: with project_id or location'],
      [crud, 'list: of its scope, with search and full_fetch'],
      [crud, 'create: refuses each wrong member with its path'],
    ],
  },
  {
    id: 'REQ-F12',
    sentence: 'an update keeps null and absent fields and removes empty ones',
    shownBy: [[crud, 'keeps null and absent fields, and removes empty ones']],
  },
  {
    id: 'REQ-F13',
    sentence: 'older revisions can be read by number',
    shownBy: [
      [crud, 'keeps the older revision readable'],
      [config, 'every revision can be read by its number, under its own ETag, until the document is deleted'],
    ],
  },
  {
    id: 'REQ-F14',
    sentence: 'a project has one event sink and one MCP server',
    shownBy: [[crud, 'refuses a second one in the project']],
  },
  {
    id: 'REQ-F15',
    sentence: 'a viewer can read but not change the configuration',
    shownBy: [[crud, 'a viewer can read, but change nothing: 403']],
  },
  {
    id: 'REQ-F16',
    sentence: 'provisioning by name is idempotent',
    shownBy: [
      ['http/configuration/repeated-provisioning.test.ts', 'a script that provisions a project by name is idempotent'],
    ],
  },
  {
    id: 'REQ-F17',
    sentence: 'a credentials document contains a valid token and a key that signs further tokens',
    shownBy: [
      [
        'unit/identity/service-account.test.ts',
        'is a document with a key to sign with and a first token, and neither is stored',
      ],
    ],
  },
  {
    id: 'REQ-F18',
    sentence: 'the master key can be rotated, and an interrupted rotation loses nothing',
    shownBy: [
      [
        'process/cli/rotate-master-key.test.ts',
        'encrypts every secret again, including older revisions, and keeps values that only look encrypted',
      ],
      [
        'process/cli/rotate-master-key.test.ts',
        'that was interrupted before the new key was in place leaves a usable folder, and can be completed',
      ],
    ],
  },
  {
    id: 'REQ-F19',
    sentence: 'a knowledge query that exceeds its policy is refused when it is stored',
    shownBy: [
      ['unit/context-query/knowledge-query.test.ts', 'that keeps within its policy is stored'],
      ['unit/context-query/knowledge-query.test.ts', 'without a context policy of its project'],
    ],
  },
  {
    id: 'REQ-F20',
    sentence: '`1.0-svc` is executed as `2.0-kbac`, and `policyVersion` is read as `policy_version`',
    shownBy: [
      [policyVersions, 'decides as one of `2.0-kbac`, in both spellings of the member'],
      [policyVersions, 'is refused with two different versions, an unknown one, none, or one that is not a string'],
      [policyVersions, 'is refused with the name of the variable that its condition does not bind'],
      [policyVersions, 'decides the same after an export and an import'],
    ],
  },
  {
    id: 'REQ-F21',
    sentence: 'a policy or query with a name that no capture has ever used is stored with a warning and its place',
    shownBy: [
      [nameWarnings, 'a policy is stored without warnings, also if an application and an agent exist'],
      [nameWarnings, 'has one for each unknown name, with line and column, and is in use nevertheless'],
      [nameWarnings, 'has them as a draft too, unless the draft does not compile'],
      [nameWarnings, 'have them for filters and paths as well'],
      [nameWarnings, 'are those of all its constituents, and outlast the elements that had them'],
      ['unit/index.test.ts', 'warns of names that the graph has never seen, with their place'],
      [
        'process/transfer/import-warnings.test.ts',
        'an import prints one line for each unknown name of its policies and queries, and succeeds',
      ],
    ],
  },
  {
    id: 'REQ-F10',
    sentence: 'settings are read from flags, the environment and a file, in this order; an unknown setting is refused',
    shownBy: [
      ['process/cli/cli.test.ts', 'are read from a file; the environment and flags take precedence'],
      ['process/cli/cli.test.ts', 'are refused before anything is created: a mistyped master key creates no other'],
      ['process/cli/cli.test.ts', 'in a file must be known, and the file must exist'],
    ],
  },
  {
    id: 'REQ-D19',
    sentence: 'a 3.0 policy that needs a property of a resolver does not grant, and the log gives the reason',
    shownBy: [
      [externalReads, 'is reported as an error of a 3.0 policy, and not of a 2.0 policy'],
      [externalReads, 'is no longer reported when the property gets a value, and is again when it loses it'],
    ],
  },
  {
    id: 'REQ-D21',
    sentence: 'a property of a resolver is never treated as absent, and searches and checks agree on it',
    shownBy: [
      [externalReads, 'is unknown in a comparison, also under NOT'],
      [externalReads, 'is never treated as absent'],
      [externalReads, 'does not affect other properties'],
    ],
  },
  {
    id: 'REQ-D23',
    sentence: 'the log reports a failing policy once a minute per revision and error, with a count',
    shownBy: [
      ['http/decisions/fault-log.test.ts', 'is one line per minute for each policy, revision and error, with a count'],
      ['unit/ops/log-throttle.test.ts', 'logs a message at once, then once per interval, with its count'],
    ],
  },
  {
    id: 'REQ-D22',
    sentence: 'strings in input parameters have a length limit at any depth, in decisions and in context queries',
    shownBy: [
      ['unit/policy/input-parameters.test.ts', 'is refused at any depth, and the error names its path: %#'],
      [server, 'is measured at any depth'],
      ['http/context-query/execute.test.ts', 'refuses a string that is too long, at any depth of the parameters'],
    ],
  },
  {
    id: 'REQ-C1',
    sentence: 'a record contains the requested paths and aggregates of one row',
    shownBy: [
      ['http/context-query/execute.test.ts', 'returns the rows for the person of the token, path by path'],
      ['http/context-query/execute.test.ts', 'returns the own fields of a relationship by path and as part of `r.*`'],
      ['http/context-query/execute.test.ts', 'returns aggregates under their names, and filters by them'],
    ],
  },
  {
    id: 'REQ-C2',
    sentence: 'pages are row offsets in a stable order within documented limits; the last page is short',
    shownBy: [
      ['http/context-query/execute.test.ts', 'returns pages that together are the whole, in a stable order'],
      ['http/context-query/execute.test.ts', 'reports an invalid page, and returns nothing after the last row'],
    ],
  },
  {
    id: 'REQ-C27',
    sentence:
      'pages are counted by `page`, and by `page_token` in rows or in pages, as project or agent say; never both',
    shownBy: [
      ['http/context-query/pages.test.ts', 'are counted from 1 by `page`, whatever `page_token` counts'],
      ['http/context-query/pages.test.ts', 'have the default size with `page_size` 0'],
      ['http/context-query/pages.test.ts', 'are counted in rows by `page_token`, unless the project counts pages'],
      ['http/context-query/pages.test.ts', 'are counted as the agent says, which wins over the project'],
      ['http/context-query/pages.test.ts', 'are asked for by one member: both are refused'],
      [mcpWire, 'count pages by `page`, and by `page_token` where the project counts pages'],
    ],
  },
  {
    id: 'REQ-C28',
    sentence: 'a placeholder may have a default, which is escaped as a value and cannot change host or path',
    shownBy: [
      [templates, 'stands in for an absent value and for null, and for nothing else'],
      [templates, 'is JSON outside of strings in a payload, and escaped text within'],
      [templates, 'changes neither host nor path: such a template is refused'],
      [external, 'is requested with the defaults of placeholders that neither element nor parameters have'],
      [external, 'has no default that chooses the host or leaves the path, nor one that is not complete'],
    ],
  },
  {
    id: 'REQ-C3',
    sentence: 'each call uses the current policy: 403 beyond it, 404 if query or policy is not ACTIVE',
    shownBy: [
      [
        'http/context-query/execute.test.ts',
        'uses the current policy: 403 for what it no longer allows, 404 if it is not ACTIVE',
      ],
      ['http/context-query/execute.test.ts', 'finds a query by its name too, and no missing one'],
    ],
  },
  {
    id: 'REQ-C4',
    sentence: 'a person needs a token and an application does not; parameters that the service sets are refused',
    shownBy: [
      ['http/context-query/execute.test.ts', 'requires a token if the subject is a person, and every parameter'],
      ['http/context-query/execute.test.ts', 'needs no token for an application, and sets its parameter'],
    ],
  },
  {
    id: 'REQ-C5',
    sentence:
      'a filter that rejects all rows returns 200 without rows, and filters agree with the reference interpreter',
    shownBy: [
      ['http/context-query/execute.test.ts', 'returns the rows for the person of the token, path by path'],
      ['http/context-query/filters.test.ts', 'accepts parameters, their members, and lists of them'],
      ['http/context-query/filters.test.ts', 'never reads a value as text of the query'],
      ['process/oracle/context-filters.test.ts', 'a filtered query returns exactly the rows of the reference'],
    ],
  },
  {
    id: 'REQ-C26',
    sentence: 'a query can filter only by properties that its policy allows to be read, and by whole ids',
    shownBy: [
      ['http/context-query/filters.test.ts', '%j is refused in the query, and accepted in the policy'],
      ['http/context-query/filters.test.ts', 'is refused when its policy is restricted, like a requested path'],
    ],
  },
  {
    id: 'REQ-C6',
    sentence: 'a token filter that is not true returns 403 with the advice of its policy',
    shownBy: [
      ['http/context-query/execute.test.ts', 'returns 403 with the advice of the policy if the token filter fails'],
    ],
  },
  {
    id: 'REQ-C7',
    sentence: 'an execution ends with 408 at its time limit, which `batch_read` extends',
    shownBy: [['http/context-query/execute.test.ts', 'ends it with 408, and is higher for a query with `batch_read`']],
  },
  {
    id: 'REQ-C8',
    sentence:
      'a context policy that cannot run, or a query for a name that its policy does not bind, is refused when stored',
    shownBy: [
      ['unit/policy/compile-context.test.ts', 'can use every documented path'],
      ['http/context-query/execute.test.ts', 'refuses to store a path that can never have a value'],
      ['unit/context-query/element-paths.test.ts', '`%s` has a value'],
      [
        'unit/context-query/knowledge-query.test.ts',
        'reserved names are written by no query, whatever its policy allows',
      ],
    ],
  },
  {
    id: 'REQ-C20',
    sentence: 'a property with `external_value` is read from its resolver after the snapshot of the graph is closed',
    shownBy: [
      [external, 'is requested if it is read, anywhere in the record'],
      [external, 'is requested after the graph was read: captures continue in the meantime'],
      [external, 'is requested with the newest configuration, by its name or its id'],
    ],
  },
  {
    id: 'REQ-C21',
    sentence: 'a placeholder value cannot change host, path or JSON member, and does not replace a value of the graph',
    shownBy: [
      [templates, 'choose another host, path, query or line'],
      [templates, 'however the URL is written'],
      [templates, 'end its string or add a member'],
      [external, 'is not requested if a placeholder has no value, or one that would change the address'],
      [external, 'with a filled payload, and headers of the resolver'],
    ],
  },
  {
    id: 'REQ-C22',
    sentence: 'if a resolver fails, the row stays, its value is null, and a warning without secrets gives the reason',
    shownBy: [
      [external, 'gives null with a reason'],
      [external, 'an address that is not allowed is refused when it is stored'],
      [external, 'a name that resolves to this machine is not called'],
      [external, 'an outage is logged at a limited rate, not for every row'],
    ],
  },
  {
    id: 'REQ-C23',
    sentence: 'resolver calls are limited in number, concurrency and time, and cached only as configured',
    shownBy: [
      [external, 'is requested with a limited concurrency, and a limited number per execution'],
      [external, 'applies to its resolvers: missing responses are null'],
      [external, 'responses are cached for equal requests as long as configured'],
    ],
  },
  {
    id: 'REQ-C24',
    sentence:
      'a property written through a parameter’s resolver is resolved before the transaction, with its source, or nothing is written',
    shownBy: [
      [external, 'is resolved once, before the transaction, and has its source'],
      [external, 'is not requested if no row matches'],
      [external, 'writes nothing if it cannot be resolved, and gives the reason'],
    ],
  },
  {
    id: 'REQ-D13',
    sentence:
      'with a user token a 2.0 policy grants only to its subject, and a 3.0 policy answers 403 for another subject',
    shownBy: [
      [userTokens, 'is for the subject of the token, and no other'],
      [
        'http/decisions/user-tokens.test.ts',
        'has the type of its configuration: an equal id of another type is another subject',
      ],
    ],
  },
  {
    id: 'REQ-A1',
    sentence: 'a user token is accepted if it is valid and a configuration of the project has its issuer and audience',
    shownBy: [
      [tokens, 'identifies the node of its subject, with all its claims'],
      [tokens, 'is accepted with every algorithm that has a public key'],
      [tokens, 'by another key with the same name is refused'],
      [tokens, 'over other claims is refused'],
    ],
  },
  {
    id: 'REQ-A2',
    sentence: 'sub_claim names the claim of the subject, and perform_upsert creates its node at first use',
    shownBy: [
      [tokens, 'takes its subject from another claim if configured'],
      [userTokens, 'creates the node of a subject at its first use, an identity with its mapped claims'],
      [userTokens, 'updates different claims and keeps unknown properties'],
      [userTokens, 'writes nothing if nothing has changed'],
    ],
  },
  {
    id: 'REQ-A3',
    sentence: 'claims are available under their own and their mapped names, with their types',
    shownBy: [[tokens, 'has its claims under the mapped names and their own, types kept']],
  },
  {
    id: 'REQ-A4',
    sentence: 'whoami returns the node type of the configuration and the subject of the token, and requires a token',
    shownBy: [
      [userTokens, 'returns the node type of the configuration and the subject of the token, and nothing else'],
      [userTokens, 'has empty values if the configuration names no node type'],
      [userTokens, 'requires a user token, of an accepted issuer, and an agent with the permission to decide'],
    ],
  },
  {
    id: 'REQ-A5',
    sentence:
      'the rotated keys of an issuer are fetched, and the keys of an unreachable issuer stay valid for a limited time',
    shownBy: [
      [tokens, 'by a key that the issuer has added since is accepted, after another fetch'],
      [tokens, 'by unknown keys causes five fetches at most, and then one in five seconds'],
      [tokens, 'is trusted with its last keys for a day, and not longer'],
    ],
  },
  {
    id: 'REQ-A6',
    sentence:
      'online validation queries the issuer, caches the result for cache_ttl or the token’s lifetime, and never sends an expired token',
    shownBy: [
      [tokens, 'caches the response as long as configured'],
      [tokens, 'caches the response no longer than the token is valid'],
      [tokens, 'sends a request each time without a cache_ttl'],
      [userTokens, 'returns the subject of an opaque token until it is revoked'],
    ],
  },
  {
    id: 'REQ-A7',
    sentence: 'a configuration change applies to the next token',
    shownBy: [
      [tokens, 'is invalidated when the configuration changes, but not with that of another project'],
      [tokens, 'does not survive a change that comes during a request to an issuer'],
    ],
  },
  {
    id: 'REQ-A8',
    sentence: 'a delegation token accompanies the user token, is verified the same way and has the same subject',
    shownBy: [
      [tokens, 'of the same subject names the actor'],
      [tokens, 'of another subject, or without one, is refused with that message'],
      ['unit/http/authenticate.test.ts', 'a delegation token without a token of the user is refused'],
    ],
  },
  {
    id: 'REQ-A9',
    sentence: 'outgoing requests go to public addresses over TLS, and to hosts on the allow list',
    shownBy: [
      [upstream, 'only public addresses are called, in any notation'],
      [upstream, 'a name is refused because of its address'],
      [upstream, 'is called without TLS too: a name, an address, a range'],
      [upstream, 'the certificate must be for the requested name, although its address is dialled'],
      [upstream, 'is not followed if it redirects'],
    ],
  },
  {
    id: 'REQ-W1',
    sentence: 'a knowledge query updates bound elements and creates named elements, once per matched row',
    shownBy: [
      [writes, 'updates the nodes of a variable in every row, visible in the records of the call'],
      [writes, 'creates nodes and relationships, which are read by their names in the same call'],
      [writes, 'merges by type and external id: a named element may already exist'],
      [writes, 'runs for an application without a token, with its own id'],
    ],
  },
  {
    id: 'REQ-W2',
    sentence: 'written elements can be read by name in the same call, within what the policy allows to be read',
    shownBy: [
      [writes, 'creates nodes and relationships, which are read by their names in the same call'],
      [writes, 'returns nothing of an existing node beyond what it wrote and the policy allows to be read'],
      ['process/oracle/context-repeated-upserts.test.ts', 'return of what existed only own fields, what they wrote'],
    ],
  },
  {
    id: 'REQ-W11',
    sentence: 'an upsert of a knowledge query is repeatable: it never fails because the element exists',
    shownBy: [
      [repeated, 'returns the same relationship'],
      [repeated, 'of which some rows existed returns a record for each row'],
      [repeated, 'succeeds for callers at the same time, and for a retry after them'],
      [repeated, 'by several rows and under two names returns what any of them wrote'],
      [repeated, 'returns the relationship at each call of ciq_execute'],
    ],
  },
  {
    id: 'REQ-W3',
    sentence: 'property metadata is given in arrays; values are literals, parameters and claims',
    shownBy: [
      [writes, 'writes property metadata from arrays of entries, and replaces it with the value'],
      [writes, 'if a value is missing, or cannot be stored in a property'],
      [writes, 'if an external id or a label is invalid'],
    ],
  },
  {
    id: 'REQ-W4',
    sentence: 'elements and properties are deleted for each row; deleting a missing one is not an error',
    shownBy: [
      [writes, 'deletes properties, relationships and nodes, and returns a record for each row'],
      [writes, 'ignores what an optional match did not find, and deletes it without an error'],
    ],
  },
  {
    id: 'REQ-W5',
    sentence: 'a write whose pattern matches no row writes nothing and returns 200 with empty data',
    shownBy: [[writes, 'writes nothing if the pattern matches no row, and returns 200 without data']],
  },
  {
    id: 'REQ-W6',
    sentence: 'relationship types and the labels of their end nodes must match the policy, checked on the actual write',
    shownBy: [
      [writes, 'if the labels of a row’s nodes do not match the policy (403)'],
      [writes, 'if a row has no node for the end of a relationship'],
    ],
  },
  {
    id: 'REQ-W7',
    sentence: 'reserved and protected names cannot be written or deleted',
    shownBy: [
      [writes, 'if a variable is bound to a node or a relationship of the service'],
      [
        'unit/context-query/knowledge-query.test.ts',
        'reserved names are written by no query, whatever its policy allows',
      ],
    ],
  },
  {
    id: 'REQ-W8',
    sentence: 'a writing query returns one page with all matched rows, or fails',
    shownBy: [[writes, 'if more rows match than the page holds, or another page is requested']],
  },
  {
    id: 'REQ-W9',
    sentence: 'read and write are one transaction: concurrent calls lose no update',
    shownBy: [
      [
        'process/workers/context-write-races.test.ts',
        'let one of fifty claim the free seat, with other concurrent writers, in all processes',
      ],
      ['process/workers/context-write-races.test.ts', 'lose no update over all processes'],
      [
        'process/workers/context-write-races.test.ts',
        'let one of fifty claim the free seat, with other concurrent writers, in all processes',
      ],
      ['unit/context-query/run-writes.test.ts', 'is read again within the transaction, and written at the first try'],
      ['unit/context-query/run-writes.test.ts', 'stops at its time limit, with nothing written'],
      ['unit/context-query/run-writes.test.ts', 'keeps nothing of a call that fails within the transaction'],
      ['unit/store/graph/batch-view.test.ts', 'reads lists and ranges of the transaction too'],
    ],
  },
  {
    id: 'REQ-W10',
    sentence: 'no query can write outside its policy; a refused call leaves no trace',
    shownBy: [['process/oracle/context-writes.test.ts', 'random queries write only what their random policies allow']],
  },
  {
    id: 'REQ-E1',
    sentence: 'a body of the wrong shape is refused with the path of each error',
    shownBy: [
      [access, 'refuses wrong shapes with the path of each error'],
      [server, 'reports the position of malformed JSON'],
    ],
  },
  {
    id: 'REQ-E2',
    sentence: 'a body above the limit is refused, declared or not',
    shownBy: [
      [server, 'refuses a body above the limit by its declared length'],
      [server, 'declares no length, before it ends'],
    ],
  },
  {
    id: 'REQ-E3',
    sentence: 'an internal error reveals nothing to the caller',
    shownBy: [['unit/http/error-response.test.ts', 'reveal nothing about an internal error']],
  },
  {
    id: 'REQ-E9',
    sentence: 'every route with a body refuses a compressed body with 415',
    shownBy: [
      [server, 'refuses a compressed body, on every route that takes one'],
      [mcpSecurity, 'that is compressed is a 415 too'],
    ],
  },
  {
    id: 'REQ-O1',
    sentence: 'the service publishes OpenAPI 3.1 and 3.2 descriptions, and every response conforms to them',
    shownBy: [
      ['unit/http/openapi/document.test.ts', 'contains every route, each with a unique name'],
      ['unit/http/openapi/document.test.ts', 'is checked against every response of these tests'],
      [
        'process/oracle/fuzz-http.test.ts',
        'get responses that it describes, no internal error, and no secret in them or in the log',
      ],
    ],
  },
  {
    id: 'REQ-O12',
    sentence: 'clients can be generated from the OpenAPI document: named components, one spelling, open objects',
    shownBy: [
      ['unit/http/openapi/document.structure.test.ts', 'are the schema of every object with members'],
      ['unit/http/openapi/document.structure.test.ts', 'allow any members where anything may stand'],
      ['http/operations/documented-spellings.test.ts', 'has one spelling in the OpenAPI document'],
      ['clients/generated-clients.test.ts', 'of openapi-typescript passes parameters to a live server'],
      ['clients/generated-clients.test.ts', 'of @hey-api/openapi-ts passes parameters to a live server'],
      ['clients/generated-clients.test.ts', 'of oapi-codegen compiles and passes parameters to a live server'],
      [
        'clients/generated-clients.test.ts',
        'of openapi-python-client imports, passes mypy and passes parameters to a live server',
      ],
    ],
  },
  {
    id: 'REQ-O2',
    sentence: 'no secret appears in a response after its creation, or in the log',
    shownBy: [
      [
        'process/oracle/fuzz-http.test.ts',
        'get responses that it describes, no internal error, and no secret in them or in the log',
      ],
      ['unit/ops/log.test.ts', 'does not contain a member with the name of a secret'],
    ],
  },
  {
    id: 'REQ-O3',
    sentence: 'a renewed certificate is used without a restart',
    shownBy: [
      ['http/operations/operations.test.ts', 'is used, renewed without a restart, and kept if the new one is broken'],
    ],
  },
  {
    id: 'REQ-O4',
    sentence: 'CORS allows only configured origins, and the rate limit of an agent applies',
    shownBy: [
      ['http/operations/operations.test.ts', 'allows a configured origin'],
      ['http/operations/operations.test.ts', 'an agent is limited to its rate, and gets Retry-After'],
    ],
  },
  {
    id: 'REQ-O5',
    sentence: 'corrupted data produces no decision, and the log reports each place at a limited rate',
    shownBy: [
      ['http/operations/damaged-value.test.ts', 'prevents decisions, and is logged once however often it is read'],
      ['http/operations/damaged-value.test.ts', 'is logged again while it is still read, with a count'],
    ],
  },
  {
    id: 'REQ-O6',
    sentence: 'a connection that is idle for less than the idle timeout stays open',
    shownBy: [
      ['process/server.idle-connection.test.ts', 'is not closed before its timeout, whenever the runtime checks'],
    ],
  },
  {
    id: 'REQ-M1',
    sentence:
      'MCP revisions 2025-11-25 (with sessions) and 2026-07-28 (stateless) work with the official clients of both lines',
    shownBy: [
      [mcpClients, 'of the first line use all methods in a session, and end it'],
      [mcpClients, 'of the second line use all methods'],
      [
        'process/mcp-inspector.test.ts',
        'finds no error in the schemas of the tools, calls one in each revision, and reports a missing argument',
      ],
    ],
  },
  {
    id: 'REQ-M2',
    sentence:
      'in the stateless revision header and body must agree; a difference is reported with the code of the specification',
    shownBy: [
      [mcpWire, 'refuses a request'],
      [mcpWire, 'names its revisions to a request for another'],
    ],
  },
  {
    id: 'REQ-M3',
    sentence: 'initialize negotiates the revision, and requests after it need a session',
    shownBy: [
      [mcpWire, 'echoes the supported revisions, and replies with its newest to any other'],
      [mcpWire, 'requires a session: 400 without one, 404 with an invalid one'],
    ],
  },
  {
    id: 'REQ-M4',
    sentence:
      'a session belongs to one project, issuer and subject, expires, ends with DELETE, and holds no state on the server',
    shownBy: [
      [mcpSecurity, 'of another subject or project, or with a changed character, is invalid'],
      [mcpSecurity, 'expires'],
      [sharedState, 'makes an MCP session valid for all of them, with notifications on its stream, and ended for all'],
      [mcpSecurity, 'holds no state on the server: of 10,000 each is valid, and only an ended one has ended'],
      [mcpWire, 'ends with DELETE once'],
    ],
  },
  {
    id: 'REQ-M5',
    sentence:
      'tools run as the subject of the token with the permissions of the bound agent, and fail with a helpful message',
    shownBy: [
      [mcpWire, 'run under the token: each person sees their own data, and a write is one'],
      [mcpWire, 'read integers as HTTP does, and report other numbers'],
      [mcpSecurity, 'uses the current permissions of its agent'],
    ],
  },
  {
    id: 'REQ-M6',
    sentence:
      'only the token configuration of the MCP server verifies tokens; the challenge names the metadata document',
    shownBy: [
      [mcpSecurity, 'that is missing gets a challenge without an error code'],
      [mcpSecurity, 'is verified only by the configuration of the server'],
      [mcpWire, 'names the endpoint, the issuer and the scopes, for pages of every origin'],
      ['http/mcp/discovery.test.ts', 'of the first line finds the issuer, and gets a token for this address'],
      ['http/mcp/discovery.test.ts', 'of the second line does'],
    ],
  },
  {
    id: 'REQ-M9',
    sentence: 'a token with insufficient scope gets 403 with the required scopes; any other advice is returned as text',
    shownBy: [
      [mcpSecurity, 'gets 403 with the required scopes if it is the scope, else a text'],
      ['http/mcp/discovery.test.ts', 'gets one with more scopes if a policy requires more, and repeats its call'],
    ],
  },
  {
    id: 'REQ-M7',
    sentence: 'foreign origins are refused, and a project without an enabled MCP server returns 404',
    shownBy: [
      [mcpSecurity, 'of a foreign origin is refused, one of this machine is accepted'],
      [mcpSecurity, 'that is not enabled does not exist, and neither does one of another project'],
    ],
  },
  {
    id: 'REQ-M8',
    sentence: 'subscribed MCP clients are notified of changes of the knowledge queries of their own project',
    shownBy: [
      [mcpListen, 'of the first line are notified in a session of a new query, and read the new list'],
      [mcpListen, 'of the second line are notified'],
      [mcpListen, 'is acknowledged first, with its accepted parts, and every message has its id'],
      [mcpListen, 'receives only changes of its own project'],
      [sharedState, 'makes an MCP session valid for all of them, with notifications on its stream, and ended for all'],
    ],
  },
  {
    id: 'REQ-M10',
    sentence:
      'a subscription ends when its authorization ends, is limited in number and size, and does not delay a stop',
    shownBy: [
      [mcpListen, 'ends cleanly with its token'],
      [mcpListen, 'ends with the session'],
      [mcpListen, 'is ended by no other method than DELETE, and HEAD has the response of GET'],
      [mcpListen, 'ends when the server is disabled, and when it uses another token configuration'],
      [mcpListen, 'counts towards the limit per person: more are refused until one ends'],
      [mcpListen, 'that is not read is closed in favour of another'],
      [mcpListen, 'buffers no more for a slow reader than the requested messages'],
      [mcpListen, 'ends cleanly when the service stops, and does not delay it'],
    ],
  },
]

export const gaps: readonly Gap[] = []
