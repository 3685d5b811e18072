// The commands for the graphs that other commands ask.

import type { ContextFlags } from '../target/context.ts'
import type { CliCommand } from './cli-command.ts'

/** Adds `context`. */
export function addContextCommands(command: CliCommand): void {
  const context = command
    .command('context')
    .description(
      'name the graphs that commands ask: services, data folders and project folders. A context is chosen by --context, by the variable VERDIGRAPH_CONTEXT, or by `context use`',
    )
    .records('no record: it reads no data folder')

  context
    .command('set <name>')
    .description(
      'create or change a context, in a file that only its owner can read; members that are not given stay, and an empty value removes one',
    )
    .examples(
      'context set local --folder authz --use',
      "context set prod --url https://authz.example.com --project cars --token '${env:PROD_TOKEN}'",
      'context set prod --key-stdin < agent.key',
    )
    .option('--url <url>', 'the URL of a service')
    .option(
      '--data <dir>',
      'a data folder; with --url, the one that issues tokens if the settings have the address of the service',
    )
    .option('--folder <dir>', 'a project folder')
    .option('--graph <file>', 'a scenario file with the graph')
    .option('--project <name>', 'name or id of the project')
    .option('--key <reference>', 'the key of an application agent, by reference: ${env:NAME} or secret://NAME')
    .option('--key-stdin', 'read the key from the standard input, and store it in the file', false)
    .option('--token <reference>', 'the token of a service account, by reference')
    .option('--token-stdin', 'read the token from the standard input, and store it in the file', false)
    .option('--use', 'make it the current context', false)
    .action(async (name: string, flags: ContextFlags) => {
      await (await import('../target/context.ts')).setContext(name, flags)
    })

  context
    .command('use <name>')
    .description('make a context the current one')
    .examples('context use local')
    .action(async (name: string) => {
      await (await import('../target/context.ts')).useContext(name)
    })

  context
    .command('list')
    .description('list the contexts, without their secrets')
    .examples('context list', 'context list --json')
    .option('--json', 'print one line of JSON', false)
    .action(async (flags: { json: boolean }) => {
      await (await import('../target/context.ts')).listContexts(flags)
    })

  context
    .command('show [name]')
    .description('print a context, by default the current one, without its secrets')
    .examples('context show', 'context show prod')
    .option('--json', 'print one line of JSON', false)
    .action(async (name: string | undefined, flags: { json: boolean }) => {
      await (await import('../target/context.ts')).showContext(name, flags)
    })

  context
    .command('delete <name>')
    .description('delete a context')
    .examples('context delete prod')
    .action(async (name: string) => {
      await (await import('../target/context.ts')).deleteContext(name)
    })
}
