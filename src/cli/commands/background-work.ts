// The command groups `trust` and `match`, which run background work now.

import { tokenVariable } from '../settings/environment-variables.ts'
import type { MatchDecideFlags, MatchFlags, MatchReportFlags, MatchRunFlags } from '../work/match.ts'
import type { CliCommand } from './cli-command.ts'
import { appended, type Flags, settingsFrom, withListening, withSettings } from './options.ts'

/** Adds `trust` and `match`. */
export function addBackgroundWorkCommands(command: CliCommand): void {
  const trust = command.command('trust').description('run passes of trust score profiles').records('trust.run of `run`')

  withSettings(trust.command('run'))
    .description('score the nodes of a trust score profile now; if the folder is served, the service runs the pass')
    .examples('trust run', 'trust run --profile gid:01J… --json')
    .requiredOption('--profile <id>', 'the id of the profile')
    .option('--json', 'print one line of JSON', false)
    .action(async (flags: Flags & { profile: string; json: boolean }) => {
      await (await import('../work/trust.ts')).runTrustPass(settingsFrom(flags), flags.profile, flags.json)
    })

  const match = command
    .command('match')
    .description('run entity matching pipelines, read their reports, and decide about pairs')
    .records('match.run of `run`, match.decide of `decide` and `undecide`; the others only read')
  const matching = (name: string): CliCommand =>
    withListening(withSettings(match.command(name)))
      .requiredOption('--pipeline <id>', 'the id of the pipeline')
      .option(
        '--url <url>',
        `the service (default: the service of the folder, or the folder if it is not served); ${tokenVariable} may hold a token for it`,
      )
      .option('--json', 'print lines of JSON', false)

  matching('run')
    .description('run a pipeline now and wait for its end; if the folder is served, the service runs it')
    .examples('match run --pipeline gid:01J…', 'match run --pipeline gid:01J… --cutoff 0.9 --json')
    .option('--cutoff <score>', 'pairs with a lower score do not match (default: that of the pipeline)')
    .option(
      '--mapping <source=target>',
      'compare these properties; may be repeated (default: as suggested)',
      appended,
      [],
    )
    .option(
      '--labels <file>',
      'lines of JSON with pairs that are known to be the same or not, for precision and recall',
    )
    .action(async (flags: Flags & MatchRunFlags) => {
      await (await import('../work/match.ts')).runMatching(settingsFrom(flags), flags)
    })

  matching('status')
    .description('print the states of a pipeline and the progress of its run')
    .examples('match status --pipeline gid:01J…')
    .action(async (flags: Flags & MatchFlags) => {
      await (await import('../work/match.ts')).printMatchStatus(settingsFrom(flags), flags)
    })

  matching('report')
    .description('print the report of the last run of a pipeline')
    .examples('match report --pipeline gid:01J… --format html --out report.html')
    .option('--format <format>', 'json, ndjson (all matches), or html', 'json')
    .option('--out <file>', 'write it to this file')
    .action(async (flags: Flags & MatchReportFlags) => {
      await (await import('../work/match.ts')).writeMatchReport(settingsFrom(flags), flags)
    })

  matching('decide')
    .description('decide that two nodes are the same entity, or are not; all later runs keep the decision')
    .examples('match decide --pipeline gid:01J… --source a1 --target b7 --same --comment "same address"')
    .requiredOption('--source <id>', 'external id of the node of the source type')
    .requiredOption('--target <id>', 'external id of the node of the target type')
    .option('--same', 'they are the same', false)
    .option('--not-same', 'they are not the same', false)
    .option('--comment <text>', 'the reason')
    .action(async (flags: Flags & MatchDecideFlags) => {
      await (await import('../work/match.ts')).decideMatch(settingsFrom(flags), flags)
    })

  matching('decisions')
    .description('print the decisions about pairs of a pipeline')
    .examples('match decisions --pipeline gid:01J…')
    .action(async (flags: Flags & MatchFlags) => {
      await (await import('../work/match.ts')).listMatchDecisions(settingsFrom(flags), flags)
    })

  matching('undecide')
    .description('delete a decision; the next run decides about the pair')
    .examples('match undecide --pipeline gid:01J… --decision gid:01J…')
    .requiredOption('--decision <id>', 'the id of the decision')
    .action(async (flags: Flags & MatchFlags & { decision: string }) => {
      await (await import('../work/match.ts')).deleteMatchDecision(settingsFrom(flags), flags, flags.decision)
    })
}
