// The command group `audit`.

import type { AcknowledgeLossFlags } from '../audit/acknowledge-loss.ts'
import type { ExportLogFlags, LogKeysFlags } from '../audit/audit-export.ts'
import type { VerifyLogFlags } from '../audit/audit-verify.ts'
import type { WitnessFlags } from '../audit/audit-witness.ts'
import { tokenVariable } from '../settings/environment-variables.ts'
import type { CliCommand } from './cli-command.ts'
import { appended, type Flags, settingsFrom, withListening, withSettings } from './options.ts'

/** Adds `audit verify`, `witness`, `rotate-key`, `acknowledge-loss`, `export`, `keys` and `hash`. */
export function addAuditCommands(command: CliCommand): void {
  const audit = command
    .command('audit')
    .description(
      'verify and export audit logs, cosign their checkpoints as an independent witness, replace the key that signs them, and acknowledge losses',
    )
    .records(
      'auditkey.rotate of `rotate-key`, auditloss.acknowledge of `acknowledge-loss`; `verify` and `witness` read a published log, which changes nothing',
    )
  addIndependentCommands(audit)

  withSettings(audit.command('rotate-key'))
    .description('replace the platform key, which signs the audit logs; the folder may be served')
    .examples('audit rotate-key')
    .option('--json', 'print one line of JSON', false)
    .action(async (flags: Flags & { json: boolean }) => {
      await (await import('../audit/rotate-audit-key.ts')).rotateAuditKey(settingsFrom(flags), flags.json)
    })

  withSettings(audit.command('acknowledge-loss'))
    .description(
      'acknowledge a loss of audit entries, after it was investigated, which `verify` and `doctor` report: the audit log of the organization names the user and the reason, and both commands report the loss as acknowledged from then on; the folder may be served',
    )
    .examples("audit acknowledge-loss 01J…/kqmzvhduwe --reason 'disk 2 was replaced'")
    .argument(
      '<loss...>',
      'the losses, as `verify` names them: the folder of the log and the lost generation, with a slash between',
    )
    .requiredOption('--reason <text>', 'what has happened, for the audit log')
    .option('--json', 'print one line of JSON for each loss', false)
    .action(async (losses: readonly string[], flags: Flags & AcknowledgeLossFlags) => {
      await (await import('../audit/acknowledge-loss.ts')).acknowledgeLosses(settingsFrom(flags), losses, flags)
    })

  const reading = (name: string): CliCommand =>
    withListening(withSettings(audit.command(name)))
      .requiredOption('--project <name>', 'name or id of the project, or the id of the organization')
      .option('--url <url>', 'the service (default: where the settings say that it listens)')
  reading('export')
    .description(
      `write an audit log with its proofs to a file that \`audit verify\` reads; the token is that of ${tokenVariable}, or from the data folder`,
    )
    .examples(
      'audit export --project gid:01J… --out audit.tar',
      'audit export --project gid:01J… --out may.tar --from 2026-05-01T00:00:00Z',
    )
    .requiredOption('--out <file>', 'the new file')
    .option('--type <type>', 'only this event type; a wildcard `*` at the end matches all that begin so')
    .option('--actor <id>', 'only records that this account, agent, credential or user caused')
    .option('--resource <id>', 'only records about this resource')
    .option('--from <time>', 'only records at or after this time (RFC 3339)')
    .option('--to <time>', 'only records before this time (RFC 3339)')
    .option('--generation <name>', 'the history of the log (default: the newest)')
    .action(async (flags: Flags & ExportLogFlags) => {
      await (await import('../audit/audit-export.ts')).exportAuditLog(settingsFrom(flags), flags)
    })
  reading('keys')
    .description('print the public keys of an audit log, as `audit verify --key` reads them')
    .examples('audit keys --project gid:01J…')
    .option('--generation <name>', 'the history of the log (default: the newest)')
    .action(async (flags: Flags & LogKeysFlags) => {
      await (await import('../audit/audit-export.ts')).printLogKeys(settingsFrom(flags), flags)
    })
  withSettings(audit.command('hash'))
    .description(
      'print the hash that stands for input parameters in an audit log, to check suspected values; reads a JSON object from the standard input',
    )
    .examples('audit hash --project gid:01J… < values.json')
    .requiredOption('--project <name>', 'name or id of the project of the log')
    .action(async (flags: Flags & { project: string }) => {
      await (await import('../audit/audit-hash.ts')).printValuesHash(settingsFrom(flags), flags.project)
    })
}

/** The commands that need no settings: verification and witnesses work without a service and its data folder. */
function addIndependentCommands(group: CliCommand): void {
  group
    .command('verify')
    .description(
      'verify an audit log with the public keys of its operator, without trusting the operator or the service',
    )
    .examples(
      'audit verify audit.tar',
      'audit verify https://authz.example.com/audit/v1/tlog/01J…/newest --key audit.pub',
    )
    .argument('<log>', 'the folder of a log, a file with an export or a checkpoint, or the URL of the tiles of a log')
    .option('--key <vkey>', 'a public key that signs checkpoints (name+id+key); may be repeated', appended, [])
    .option('--against <file>', 'a checkpoint that was kept; the log must continue it')
    .option('--origin <origin>', 'the log that is expected (default: the name of one of the keys)')
    .option('--token-file <file>', `a file with a token for the URL (default: ${tokenVariable})`)
    .option('--json', 'print one line of JSON', false)
    .action(async (log: string, flags: VerifyLogFlags) => {
      await (await import('../audit/audit-verify.ts')).verifyAuditLog(log, flags)
    })

  group
    .command('witness')
    .description('cosign the checkpoint of an audit log if it continues the one that was cosigned last; print the note')
    .examples('audit witness --state witness --init', 'audit witness audit.tar --state witness --key audit.pub')
    .argument(
      '[log]',
      'the folder of a log, the URL of its tiles, or a file with a request of C2SP tlog-witness (-: stdin)',
    )
    .requiredOption('--state <file>', 'the key of the witness, and the last checkpoint of each log')
    .option('--init <name>', 'create the file with a new key, and print its public key')
    .option('--key <vkey>', 'a public key that signs checkpoints of the log; may be repeated', appended, [])
    .option('--origin <origin>', 'the log that is expected (default: the name of one of the keys)')
    .option('--token-file <file>', `a file with a token for the URL (default: ${tokenVariable})`)
    .action(async (log: string | undefined, flags: WitnessFlags) => {
      await (await import('../audit/audit-witness.ts')).witness(log, flags)
    })
}
