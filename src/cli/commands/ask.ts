// The commands that ask a graph.
import { type Command, Option } from 'commander'
import type { AskFlags, SearchFlags } from '../ask/ask.ts'
import type { PolicyFlags } from '../ask/policy.ts'
import type { QueryFlags } from '../ask/query.ts'
import type { TargetFlags } from '../target/target.ts'
import { appended, withTarget } from './options.ts'

const JSON_HELP = 'print one line of JSON'

/** Adds `check`, `why`, `who`, `what`, `actions`, `query`, `shell` and `policy`. */
export function addAskCommands(command: Command): void {
  addDecisionCommands(command)
  addSearchCommands(command)
  addQueryCommand(command)
  addShell(command)
  addPolicyList(command)
}

function addDecisionCommands(command: Command): void {
  withQuestion(command.command('check <subject> <action> <resource>'))
    .description('decide whether a subject may perform an action on a resource: exit code 0 granted, 1 denied, 2 error')
    .action(async (subject: string, action: string, resource: string, flags: AskFlags) => {
      await (await import('../ask/ask.ts')).check(subject, action, resource, flags)
    })

  withQuestion(command.command('why <subject> <action> <resource>'))
    .description(
      'explain a decision: the path that grants, or how far each policy came and the values that stopped it; exit codes as for `check`',
    )
    .action(async (subject: string, action: string, resource: string, flags: AskFlags) => {
      await (await import('../ask/ask.ts')).explain(subject, action, resource, flags)
    })
}

function addSearchCommands(command: Command): void {
  withSearch(command.command('who <action> <resource>'))
    .description('list the subjects that may perform an action on a resource; exit code 1: none')
    .option('--type <type>', 'the type of the subjects (default: those of the policies)')
    .action(async (action: string, resource: string, flags: SearchFlags) => {
      await (await import('../ask/ask.ts')).search('who', action, resource, flags)
    })

  withSearch(command.command('what <subject> <action>'))
    .description('list the resources on which a subject may perform an action; exit code 1: none')
    .option('--type <type>', 'the type of the resources (default: those of the policies)')
    .action(async (subject: string, action: string, flags: SearchFlags) => {
      await (await import('../ask/ask.ts')).search('what', subject, action, flags)
    })

  withSearch(command.command('actions <subject> <resource>'))
    .description('list the actions that a subject may perform on a resource; exit code 1: none')
    .action(async (subject: string, resource: string, flags: SearchFlags) => {
      await (await import('../ask/ask.ts')).search('actions', subject, resource, flags)
    })
}

function addQueryCommand(command: Command): void {
  withTarget(command.command('query <cypher>'))
    .description(
      'read the graph with Cypher, which policies do not restrict; - reads the query from the standard input',
    )
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

function addShell(command: Command): void {
  withTarget(command.command('shell'))
    .description(
      'ask a graph from a prompt with history and completion, or from a pipe: Cypher that ends with a semicolon, and commands such as :explain',
    )
    .action(async (flags: TargetFlags) => {
      await (await import('../shell/shell.ts')).runShell(flags)
    })
}

function addPolicyList(command: Command): void {
  const policy = command.command('policy').description('read the policies of a project')

  withTarget(policy.command('list'))
    .description('list the policies with their types and actions')
    .option('--json', JSON_HELP, false)
    .action(async (flags: PolicyFlags) => {
      await (await import('../ask/policy.ts')).listPolicies(flags)
    })

  withTarget(policy.command('show <name>'))
    .description('print a policy, by its name or id')
    .option('--json', JSON_HELP, false)
    .action(async (name: string, flags: PolicyFlags) => {
      await (await import('../ask/policy.ts')).showPolicy(name, flags)
    })
}

/** For questions about decisions. Entities are `TYPE:ID`. */
function withQuestion(command: Command): Command {
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

function withSearch(command: Command): Command {
  return withQuestion(command).option('--limit <count>', 'maximum results (default: all)')
}
