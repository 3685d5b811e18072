// The command group `events`.

import type { LettersFlags, ListFlags, RoutingTestFlags, TailFlags } from '../work/events.ts'
import type { CliCommand } from './cli-command.ts'
import { appended, type Flags, readSettingsFrom, withService } from './options.ts'

/** Adds `events tail`, `events test` and `events dead-letters`. */
export function addEventCommands(command: CliCommand): void {
  const events = command
    .command('events')
    .description('watch and test the delivery of events of a running service')
    .records('no record of its own: it calls the service, which records its requests')

  withService(events.command('tail'))
    .description('print events as they happen; events exist only where a route of the event sink matches')
    .examples(
      'events tail --project gid:01J… --type "svc.audit.capture.*"',
      'events tail --project gid:01J… --oldest --count 10 --json',
    )
    .option('--type <filter>', 'only these event types; a wildcard * at the end matches all below', '*')
    .option('--oldest', 'begin with the oldest event that is stored', false)
    .option('--count <n>', 'end after this number of events')
    .option('--json', 'print each event as one line of JSON (CloudEvents)', false)
    .action(async (flags: Flags & TailFlags) => {
      await (await import('../work/events.ts')).tailEvents(readSettingsFrom(flags), flags)
    })

  withService(events.command('test'))
    .description('print which routes an event takes and why')
    .examples('events test --project gid:01J… --type svc.audit.capture.upsert.node --context captureLabel=Car --send')
    .requiredOption('--type <type>', 'the event type')
    .option('--context <key=value>', 'the value of a context key; may be repeated', appended, [])
    .option('--send', 'send a test event to the providers that would receive the event', false)
    .option('--draft <file>', 'test the event sink in this JSON file, which need not be stored')
    .option('--json', 'print one line of JSON', false)
    .action(async (flags: Flags & RoutingTestFlags) => {
      await (await import('../work/events.ts')).testRoutes(readSettingsFrom(flags), flags)
    })

  const letters = events
    .command('dead-letters')
    .description('handle the events that a provider refused for good; requires the role all_editor')

  withService(letters.command('list'))
    .description('print one line for each dead letter: id, type, subject, reason')
    .examples('events dead-letters list --project gid:01J… --provider main')
    .option('--provider <id>', 'only those of this provider')
    .option('--count <n>', 'end after this number of dead letters')
    .option('--json', 'print each dead letter as one line of JSON', false)
    .action(async (flags: Flags & ListFlags) => {
      await (await import('../work/events.ts')).listDeadLetters(readSettingsFrom(flags), flags)
    })

  withService(letters.command('show <id>'))
    .description('print a dead letter with its event as JSON')
    .examples('events dead-letters show 42 --project gid:01J…')
    .option('--json', 'print one line of JSON', false)
    .action(async (id: string, flags: Flags & LettersFlags) => {
      await (await import('../work/events.ts')).showDeadLetter(readSettingsFrom(flags), id, flags)
    })

  withService(letters.command('resend [ids...]'))
    .description('send dead letters again; each is removed when the provider accepts it')
    .examples('events dead-letters resend 42 43 --project gid:01J…')
    .option('--provider <id>', 'all dead letters of this provider')
    .option('--json', 'print one line of JSON', false)
    .action(async (ids: readonly string[], flags: Flags & LettersFlags) => {
      await (await import('../work/events.ts')).resendDeadLetters(readSettingsFrom(flags), ids, flags)
    })

  withService(letters.command('delete [ids...]'))
    .description('delete dead letters')
    .examples('events dead-letters delete --project gid:01J… --provider main')
    .option('--provider <id>', 'all dead letters of this provider')
    .option('--json', 'print one line of JSON', false)
    .action(async (ids: readonly string[], flags: Flags & LettersFlags) => {
      await (await import('../work/events.ts')).deleteDeadLetters(readSettingsFrom(flags), ids, flags)
    })
}
