// The commands that ask a graph.
import { Option } from 'commander'
import type { AskFlags, SearchFlags } from '../ask/ask.ts'
import type { PolicyFlags } from '../ask/policy.ts'
import type { QueryFlags } from '../ask/query.ts'
import type { TargetFlags } from '../target/target.ts'
import type { CliCommand } from './cli-command.ts'
import { appended, withTarget } from './options.ts'

const JSON_HELP = 'print one line of JSON'
const READS_ONE_PROJECT =
  'no record: of a data folder it reads one project, which every reader of its files could; a service records the request'

/** Adds `check`, `why`, `who`, `what`, `actions`, `query`, `shell` and `policy`. */
export function addAskCommands(command: CliCommand): void {
  addDecisionCommands(command)
  addSearchCommands(command)
  addQueryCommand(command)
  addShell(command)
  addPolicyList(command)
}

function addDecisionCommands(command: CliCommand): void {
  withQuestion(command.command('check <subject> <action> <resource>'))
    .description('decide whether a subject may perform an action on a resource: exit code 0 granted, 1 denied, 2 error')
    .examples(
      'check Person:ann drive Car:c1 --folder authz --param min=4',
      'check Person:ann wash Car:c1 --json',
      'check Person:ann sign Car:c1 --token-claims \'{"email":"ann@example.com"}\'',
    )
    .records(READS_ONE_PROJECT)
    .action(async (subject: string, action: string, resource: string, flags: AskFlags) => {
      await (await import('../ask/ask.ts')).check(subject, action, resource, flags)
    })

  withQuestion(command.command('why <subject> <action> <resource>'))
    .description(
      'explain a decision: the path that grants, or how far each policy came and the values that stopped it; exit codes as for `check`',
    )
    .examples('why Person:ann wash Car:c1', 'why Person:bob drive Car:c2 --param min=4')
    .records(READS_ONE_PROJECT)
    .action(async (subject: string, action: string, resource: string, flags: AskFlags) => {
      await (await import('../ask/ask.ts')).explain(subject, action, resource, flags)
    })
}

function addSearchCommands(command: CliCommand): void {
  withSearch(command.command('who <action> <resource>'))
    .description('list the subjects that may perform an action on a resource; exit code 1: none')
    .examples('who wash Car:c1', 'who wash Car:c1 --type Person --limit 10')
    .records(READS_ONE_PROJECT)
    .option('--type <type>', 'the type of the subjects (default: those of the policies)')
    .action(async (action: string, resource: string, flags: SearchFlags) => {
      await (await import('../ask/ask.ts')).search('who', action, resource, flags)
    })

  withSearch(command.command('what <subject> <action>'))
    .description('list the resources on which a subject may perform an action; exit code 1: none')
    .examples('what Person:bob wash', 'what Person:bob wash --type Car --json')
    .records(READS_ONE_PROJECT)
    .option('--type <type>', 'the type of the resources (default: those of the policies)')
    .action(async (subject: string, action: string, flags: SearchFlags) => {
      await (await import('../ask/ask.ts')).search('what', subject, action, flags)
    })

  withSearch(command.command('actions <subject> <resource>'))
    .description('list the actions that a subject may perform on a resource; exit code 1: none')
    .examples('actions Person:ann Car:c1 --param min=4')
    .records(READS_ONE_PROJECT)
    .action(async (subject: string, resource: string, flags: SearchFlags) => {
      await (await import('../ask/ask.ts')).search('actions', subject, resource, flags)
    })
}

function addQueryCommand(command: CliCommand): void {
  withTarget(command.command('query <cypher>'))
    .description(
      'read the graph with Cypher, which policies do not restrict; - reads the query from the standard input',
    )
    .examples(
      "query 'MATCH (p:Person)-[:OWNS]->(c:Car) RETURN p, c.wheels AS wheels'",
      "query 'MATCH (c:Car) WHERE c.wheels >= $min RETURN c' --param min=4 --format csv",
      "query 'MATCH (p:Person)-[:OWNS]->(c) RETURN count(c) AS cars' --profile",
      'query - --json < query.cypher',
    )
    .records(READS_ONE_PROJECT)
    .option('--param <name=value>', 'a parameter: a JSON value, or a text; may be repeated', appended, [])
    .option('--limit <rows>', 'rows in the answer, at most 10,000 (default: 1000)')
    .addOption(
      new Option('--format <name>', 'the form of the answer').choices(['table', 'json', 'csv']).default('table'),
    )
    .option('--plan', 'print the plan, and read nothing', false)
    .option('--profile', 'print the plan with rows, reads and time of each operator', false)
    .option('--allow-unknown', 'run a query with names that the graph has never seen', false)
    .option('--json', `${JSON_HELP}, as --format json`, false)
    .action(async (text: string, flags: QueryFlags) => {
      await (await import('../ask/query.ts')).queryGraph(text, flags)
    })
}

function addShell(command: CliCommand): void {
  withTarget(command.command('shell'))
    .description(
      'ask a graph from a prompt with history and completion, or from a pipe: Cypher that ends with a semicolon, and commands such as :explain',
    )
    .examples('shell', 'shell --folder authz', 'shell < queries.cypher')
    .records(READS_ONE_PROJECT)
    .action(async (flags: TargetFlags) => {
      await (await import('../shell/shell.ts')).runShell(flags)
    })
}

function addPolicyList(command: CliCommand): void {
  const policy = command.command('policy').description('read the policies of a project').records(READS_ONE_PROJECT)

  withTarget(policy.command('list'))
    .description('list the policies with their types and actions')
    .examples('policy list', 'policy list --json')
    .option('--json', JSON_HELP, false)
    .action(async (flags: PolicyFlags) => {
      await (await import('../ask/policy.ts')).listPolicies(flags)
    })

  withTarget(policy.command('show <name>'))
    .description('print a policy, by its name or id')
    .examples('policy show drive')
    .option('--json', JSON_HELP, false)
    .action(async (name: string, flags: PolicyFlags) => {
      await (await import('../ask/policy.ts')).showPolicy(name, flags)
    })
}

/** For questions about decisions. Entities are `TYPE:ID`. */
function withQuestion(command: CliCommand): CliCommand {
  return withTarget(command)
    .option(
      '--param <name=value>',
      'a parameter of the policies: a JSON value, or a text; may be repeated',
      appended,
      [],
    )
    .option('--tag <tag>', 'evaluate only policies with one of these tags; may be repeated', appended, [])
    .option('--token <token>', 'a user token, which the service verifies; @FILE reads it from a file')
    .option(
      '--token-claims <json>',
      'the claims of a user token, for a graph in this process; @FILE reads them from a file',
    )
    .option('--json', JSON_HELP, false)
}

function withSearch(command: CliCommand): CliCommand {
  return withQuestion(command).option('--limit <count>', 'maximum results (default: all)')
}
