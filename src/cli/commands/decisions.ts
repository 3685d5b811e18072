// The commands that show decisions of a running service.
import type { Command } from 'commander'
import type { ReplayFlags } from '../ask/replay.ts'
import type { DecisionTailFlags } from '../ask/tail.ts'
import { appended, withTarget } from './options.ts'

/** Adds `tail` and `replay`. */
export function addDecisionCommands(command: Command): void {
  withTarget(command.command('tail'))
    .description('print decisions of a running service as they are made; its decision log must be on')
    .option('--denied', 'only denials, and evaluations with an error', false)
    .option('--granted', 'only permits', false)
    .option('--subject <type[:id]>', 'only this subject')
    .option('--action <name>', 'only this action')
    .option('--resource <type[:id]>', 'only this resource')
    .option('--count <n>', 'end after this number of decisions')
    .option('--json', 'print each line of the log as it is', false)
    .action(async (flags: DecisionTailFlags) => {
      await (await import('../ask/tail.ts')).tailDecisions(flags)
    })

  withTarget(command.command('replay <id>'))
    .description(
      'ask for a decision of the past again, and show what is different now; `id`: `context.id` of its answer, in the decision log or the audit log',
    )
    .option('--log <file>', 'find the decision in this file of the decision log')
    .option('--param <name=value>', 'a parameter that the log hides; may be repeated', appended, [])
    .option('--token <token>', 'the token of the user for whom the decision was made')
    .option('--json', 'print one line of JSON', false)
    .action(async (id: string, flags: ReplayFlags) => {
      await (await import('../ask/replay.ts')).replayDecision(id, flags)
    })
}
