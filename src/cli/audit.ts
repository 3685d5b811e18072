// The command group `audit`: the verbs that need no settings. Verification and witnesses work without a service and its data folder.
import type { Command } from 'commander'
import type { VerifyLogFlags } from './audit-verify.ts'
import type { WitnessFlags } from './audit-witness.ts'
import { tokenVariable } from './environment-variables.ts'

/** Adds the verbs to the group. */
export function addAuditCommands(group: Command): void {
  group
    .command('verify')
    .description(
      'verify an audit log with the public keys of its operator, without trusting the operator or the service',
    )
    .argument('<log>', 'the folder of a log, a file with an export or a checkpoint, or the URL of the tiles of a log')
    .option('--key <vkey>', 'a public key that signs checkpoints (name+id+key); may be repeated', collected, [])
    .option('--against <file>', 'a checkpoint that was kept; the log must continue it')
    .option('--origin <origin>', 'the log that is expected (default: the name of one of the keys)')
    .option('--token-file <file>', `a file with a token for the URL (default: ${tokenVariable})`)
    .option('--json', 'print one line of JSON', false)
    .action(async (log: string, flags: VerifyLogFlags) => {
      await (await import('./audit-verify.ts')).verifyAuditLog(log, flags)
    })

  group
    .command('witness')
    .description('cosign the checkpoint of an audit log if it continues the one that was cosigned last; print the note')
    .argument(
      '[log]',
      'the folder of a log, the URL of its tiles, or a file with a request of C2SP tlog-witness (-: stdin)',
    )
    .requiredOption('--state <file>', 'the key of the witness, and the last checkpoint of each log')
    .option('--init <name>', 'create the file with a new key, and print its public key')
    .option('--key <vkey>', 'a public key that signs checkpoints of the log; may be repeated', collected, [])
    .option('--origin <origin>', 'the log that is expected (default: the name of one of the keys)')
    .option('--token-file <file>', `a file with a token for the URL (default: ${tokenVariable})`)
    .action(async (log: string | undefined, flags: WitnessFlags) => {
      await (await import('./audit-witness.ts')).witness(log, flags)
    })
}

function collected(value: string, before: readonly string[]): readonly string[] {
  return [...before, value]
}
