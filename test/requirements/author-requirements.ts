// The requirements of authors and of programs that ask: files, tests, checks, plans, the authorizer in process, clients and streams of
// changes: each with the tests that prove it.
import type { Requirement } from './requirements.ts'

const authorizer = 'unit/authorizer/open-authorizer.test.ts'
const bothDoors = 'process/authorizer/both-doors.test.ts'
const dataFolder = 'process/authorizer/data-folder.test.ts'
const packaged = 'process/package.test.ts'
const jest = 'clients/jest.test.ts'
const project = 'unit/project/load-project.test.ts'
const secrets = 'unit/project/secret-references.test.ts'
const schemas = 'unit/scenarios/schema.test.ts'
const difference = 'unit/project/difference.test.ts'
const applyHttp = 'http/configuration/apply.test.ts'
const apply = 'process/project/apply.test.ts'
const roundTrip = 'process/project/round-trip.test.ts'
const compare = 'http/decisions/compare.test.ts'
const comparedOracle = 'process/oracle/compared-policies.test.ts'
const plan = 'process/cli/plan.test.ts'
const inProcessCompare = 'unit/authorizer/compare.test.ts'
const scenarios = 'unit/scenarios/run.test.ts'
const reports = 'unit/scenarios/reports.test.ts'
const testCommand = 'process/cli/test-command.test.ts'
const team = 'process/cli/team-repository.test.ts'
const graphQuery = 'http/graph-query/graph-query.test.ts'
const lint = 'unit/language/lint.test.ts'
const format = 'unit/language/format-cypher.test.ts'
const languageCommands = 'process/language/commands.test.ts'
const formatProperties = 'process/language/format-properties.test.ts'
const useless = 'process/language/useless-policies.test.ts'
const languageServer = 'process/language/language-server.test.ts'
const explain = 'http/decisions/explain.test.ts'
const mcpClients = 'http/mcp/official-clients.test.ts'
const mcpSecurity = 'http/mcp/security.test.ts'
const client = 'http/client/client.test.ts'
const middleware = 'clients/middleware.test.ts'
const runtimes = 'clients/runtimes.test.ts'
const languages = 'clients/languages.test.ts'
const watch = 'http/decisions/watch.test.ts'
const ask = 'process/cli/ask.test.ts'
const streams = 'process/streams/streams.test.ts'
const watchClient = 'http/client/watch.test.ts'

export const authorRequirements: readonly Requirement[] = [
  {
    id: 'REQ-U1',
    sentence: 'an authorizer in process answers as the HTTP interface does, over all scenarios',
    shownBy: [
      [bothDoors, 'answer alike in the scenario $name'],
      [authorizer, 'decides, also with exact numbers'],
      [authorizer, 'searches by pages'],
      [authorizer, 'explains with the path and the nearest miss'],
    ],
  },
  {
    id: 'REQ-U2',
    sentence: 'it runs under Node and Bun, and a graph in memory leaves no file and is gone when it is closed',
    shownBy: [
      [packaged, 'decides under %s, and leaves no file'],
      [authorizer, 'an authorizer that is closed answers nothing, and its graph is gone'],
      [packaged, 'loads none of the parts of an authorizer before one is opened'],
    ],
  },
  {
    id: 'REQ-U3',
    sentence: 'it runs knowledge queries with the claims of a given token, and writes',
    shownBy: [
      [authorizer, 'decides for the user of a token'],
      [authorizer, 'runs knowledge queries for the user of a token, and writes with them'],
      [authorizer, 'deletes what is written, and refuses a list with an error as a whole'],
    ],
  },
  {
    id: 'REQ-U4',
    sentence: 'over a data folder it follows each commit of the service, and refuses to write',
    shownBy: [
      [dataFolder, 'an authorizer sees each commit of the service'],
      [dataFolder, 'decides by its policies over the graph of the data folder'],
      [dataFolder, 'an authorizer over a data folder refuses to write'],
    ],
  },
  {
    id: 'REQ-U5',
    sentence: 'matchers of Vitest and Jest pass for what is decided, and a red test shows the nearest miss',
    shownBy: [
      [authorizer, 'prints the nearest miss of a denial, and the path of a permit'],
      [authorizer, 'fail for a refused request, also where a denial is expected'],
      [packaged, 'has matchers whose red test shows the nearest miss, in Vitest under Node'],
      [jest, 'a red test of Jest shows the nearest miss'],
    ],
  },
  {
    id: 'REQ-U6',
    sentence:
      'a project folder is read in an order in which each document refers to earlier ones, with schemas for editors',
    shownBy: [
      [project, 'gives the create bodies of its documents in an order in which each refers to earlier ones'],
      [project, 'keeps 1 and 1.0 distinct'],
      [schemas, '%s is a valid schema'],
      [schemas, 'the schema of policies accepts both kinds'],
    ],
  },
  {
    id: 'REQ-U7',
    sentence: 'an error of a file names file, line and column, and the nearest right word',
    shownBy: [
      [authorizer, 'errors of policies have their place in the files'],
      [apply, 'reports the errors of all files with their places, and stores nothing'],
      [reports, 'errors of files and of their project are results'],
    ],
  },
  {
    id: 'REQ-U8',
    sentence: 'files contain references to secrets, which are read from the environment or from a folder',
    shownBy: [
      [secrets, 'are found within a text, and nothing else is'],
      [secrets, 'are read from the environment and from the files of the folder of secrets'],
      [difference, 'shows secrets only as the file refers to them'],
      [applyHttp, 'keeps secrets sealed, compares them, and never sends a stored one to another address'],
    ],
  },
  {
    id: 'REQ-U9',
    sentence: 'a folder is applied to a data folder or a service: idempotent, and as a whole or not at all',
    shownBy: [
      [apply, 'creates a project, then changes nothing, then exactly what differs'],
      [apply, 'is changed through its service'],
      [apply, 'has the same documents after eight applies at the same time'],
      [applyHttp, 'stores nothing if one document is refused, and reports the errors of all'],
      [applyHttp, 'is refused after a concurrent change, and stores nothing'],
    ],
  },
  {
    id: 'REQ-U10',
    sentence: 'documents without a file stay unless --prune deletes them, which asks',
    shownBy: [
      [apply, 'keeps documents without a file unless --prune deletes them, which asks'],
      [difference, 'deletes in reverse order'],
    ],
  },
  {
    id: 'REQ-U11',
    sentence: 'a running project is written as a folder that applies without a difference',
    shownBy: [
      [apply, 'writes a project so that apply finds no difference'],
      [roundTrip, 'is the same after it was written, applied elsewhere, and written again'],
      [roundTrip, 'follows the stored project from any state to any other'],
    ],
  },
  {
    id: 'REQ-U12',
    sentence: 'a plan prints who gains and who loses, with a sample and its path, and what a budget left out',
    shownBy: [
      [plan, 'prints gains and losses by action, with examples and paths, the same for a folder and a URL'],
      [plan, 'is empty for a folder with the stored policies'],
      [compare, 'reports the pairs that a new policy adds, with the path'],
      [compare, 'what it left out at the end of its budget, and reports no wrong pair'],
      [comparedOracle, 'reports the pairs whose decision changes, and within a small budget no others'],
    ],
  },
  {
    id: 'REQ-U13',
    sentence: 'drafts are compared and decide for callers that may read the configuration',
    shownBy: [
      [compare, 'compares stored drafts as if they were active'],
      [compare, 'without the permission to read the configuration'],
      [inProcessCompare, 'an authorizer decides with drafts'],
    ],
  },
  {
    id: 'REQ-U14',
    sentence: 'scenario files compare every kind of answer, and show the nearest miss with both values',
    shownBy: [
      [scenarios, 'compares every kind of answer, and shows the actual one'],
      [scenarios, 'shows the nearest miss of a wrong decision, and what a search did not find'],
      [reports, 'have a report for a person: places, both values of the nearest miss, counts'],
    ],
  },
  {
    id: 'REQ-U15',
    sentence: '`verdigraph test` has exit codes, reports for programs and build servers, and --watch',
    shownBy: [
      [testCommand, 'has exit code 0 if all checks pass, 1 if one fails, and 2 if a file is not valid'],
      [testCommand, 'runs again what a change concerns'],
      [testCommand, 'does not run with wrong paths or options, and writes no report'],
      [reports, 'has the form that build servers read, also with special characters'],
    ],
  },
  {
    id: 'REQ-U16',
    sentence: 'coverage names policies, operators, alternatives and conditions that no decision has reached',
    shownBy: [
      [scenarios, 'names policies, alternatives and conditions that no decision has reached'],
      [scenarios, 'names the operators without a row'],
      [testCommand, 'writes reports, and fails below a minimum of coverage'],
    ],
  },
  {
    id: 'REQ-U17',
    sentence: 'a repository of a team is tested, planned and applied as its page shows',
    shownBy: [[team, 'the commands of the page print what it shows']],
  },
  {
    id: 'REQ-U18',
    sentence: 'read-only Cypher is answered within limits, for accounts that may change the configuration',
    shownBy: [
      [graphQuery, 'answers with nodes by external id, and integers beyond 2^53 exactly'],
      [graphQuery, 'cuts the rows at the limit'],
      [graphQuery, 'is for service accounts that may change the configuration, and for no agent'],
    ],
  },
  {
    id: 'REQ-U19',
    sentence: 'lint finds mistakes with their places, and claims that a policy is useless only with a proof',
    shownBy: [
      [lint, 'a finding has the place of the text in the file'],
      [lint, 'policies that are right have no findings'],
      [lint, 'are not claimed without a proof'],
      [useless, 'a policy reported as never granting grants nothing'],
      [languageCommands, 'lint has exit code 1 for errors'],
    ],
  },
  {
    id: 'REQ-U20',
    sentence: 'fmt changes the layout only: tree and comments stay',
    shownBy: [
      [format, 'comments stay where they are'],
      [formatProperties, 'a formatted policy of a scenario or a page has the same tree and comments'],
      [languageCommands, 'fmt writes files that are not formatted, and --check only names them'],
    ],
  },
  {
    id: 'REQ-U21',
    sentence: 'the language server has diagnostics, completion, hover with the plan, and formatting for a real client',
    shownBy: [
      [languageServer, 'publishes the findings of open files'],
      [languageServer, 'completes names of the data'],
      [languageServer, 'shows the name and the plan at a place, and formats the Cypher'],
    ],
  },
  {
    id: 'REQ-U22',
    sentence: 'the nearest miss has the values met and given, as far as the mask allows, over HTTP and MCP',
    shownBy: [
      [explain, 'shows the values met and given of a comparison that is not true'],
      [explain, 'masks the values of parameters and properties whose names are masked'],
      [mcpClients, 'of the first line use all methods in a session'],
      [mcpSecurity, 'uses the current permissions of its agent'],
    ],
  },
  {
    id: 'REQ-U23',
    sentence: 'the client decides, searches, writes and explains, and repeats only what may be repeated',
    shownBy: [
      [client, 'decides more questions than one request may have, in their order'],
      [client, 'finds resources, subjects and actions page by page'],
      [client, 'wait as long as the service demands'],
      [client, 'include writes of the graph, but no knowledge query that may have been executed'],
      [client, 'do not take another answer for a permit'],
      [client, 'do not follow redirects'],
    ],
  },
  {
    id: 'REQ-U24',
    sentence: 'it runs in browsers, for pages of allowed origins, and in edge runtimes',
    shownBy: [
      [runtimes, 'decides, searches, writes and repeats, for a page of an allowed origin'],
      [runtimes, 'gives no answer to a page of another origin'],
      [runtimes, 'decides, searches, writes and repeats in workerd'],
    ],
  },
  {
    id: 'REQ-U25',
    sentence: 'middleware of Express, Fastify and Hono passes on what the service permits, and nothing else',
    shownBy: [
      [middleware, 'passes on what the service permits, and nothing else'],
      [middleware, 'refuses all requests while the service cannot be asked'],
    ],
  },
  {
    id: 'REQ-U26',
    sentence: 'the Python client has generated types and the rules of the client',
    shownBy: [
      [languages, 'has the types of the OpenAPI document (npm run clients)'],
      [languages, 'Python: is typed strictly, as an installed package'],
      [languages, 'Python: passes its tests against a live service'],
      [languages, 'Python: does what its examples show'],
    ],
  },
  {
    id: 'REQ-U27',
    sentence: 'the Go client has generated types and the rules of the client',
    shownBy: [
      [languages, 'has the types of the OpenAPI document (npm run clients)'],
      [languages, 'Go: passes its tests against a live service'],
      [languages, 'Go: does what its examples show, in another module'],
    ],
  },
  {
    id: 'REQ-U28',
    sentence: 'a stream reports which decisions a write or a policy may change, and continues after its last event',
    shownBy: [
      [watch, 'begins with a revision, and reports the decisions that a write may change'],
      [watch, 'reports no write that changes'],
      [watch, 'continues after the last event'],
      [watchClient, 'connects again after a restart'],
      [streams, 'continue at another worker with the id of the last event'],
    ],
  },
  {
    id: 'REQ-U29',
    sentence:
      'commands ask for decisions, explanations, searches and rows, with exit codes, over a folder, files or a service',
    shownBy: [
      [ask, 'check has the exit code 0 if it is granted, and 1 if it is denied'],
      [ask, 'why names the path that grants, and the values that stopped a policy'],
      [ask, 'who, what and actions list what the policies grant'],
      [ask, 'query prints a table, JSON and CSV'],
      [ask, 'because the service is away, or refuses the credential'],
    ],
  },
  {
    id: 'REQ-U30',
    sentence: 'contexts name graphs, with the rights of their owner only, and never print a secret',
    shownBy: [
      [ask, 'name graphs with the rights of their owner only, and flags and variables take precedence'],
      [ask, 'hold a secret only from the standard input, and never print it'],
    ],
  },
  {
    id: 'REQ-U31',
    sentence: 'the decision log is printed, and a decision is asked again by its id',
    shownBy: [
      [streams, 'print decisions, and ask again: 0 if the decision is the same, 1 if it changed, 2 for an error'],
    ],
  },
]
