// The commands that copy, check and change a data folder as a whole.
import { Option } from 'commander'
import type { BackupFlags, RestoreFlags } from '../backup/backup.ts'
import type { DrillFlags } from '../backup/drill.ts'
import type { CopyFlags } from '../folder/copy.ts'
import type { ExportFlags, ImportFlags } from '../folder/transfer.ts'
import { VERIFY_FOLDER_COMMAND } from '../settings/self-command.ts'
import type { CliCommand } from './cli-command.ts'
import { appended, type Flags, readSettingsFrom, settingsFrom, withSettings } from './options.ts'

/** Adds `rotate-master-key`, `backup`, `restore`, `backups`, `drill`, `export`, `import`, `copy`, `verify`, `migrate` and `doctor`. */
export function addDataFolderCommands(command: CliCommand): void {
  withSettings(command.command('rotate-master-key'))
    .description('encrypt all secrets with a new master key and delete the old one; the folder must not be served')
    .examples('rotate-master-key --data /var/lib/verdigraph')
    .records('masterkey.rotate')
    .option('--json', 'print one line of JSON', false)
    .action(async (flags: Flags & { json: boolean }) => {
      await (await import('../folder/rotate-master-key.ts')).rotateMasterKey(settingsFrom(flags), flags.json)
    })

  withSettings(command.command('backup'))
    .description(
      'write a consistent copy of all projects and their configuration to one file; the folder may be served',
    )
    .examples('backup --out backup.tar', 'backup --data /var/lib/verdigraph --to s3://backups/authz --recipient age1…')
    .records('backup')
    .option('--out <file>', 'the file to write; must not exist')
    .option('--to <place>', 'write verdigraph-TIME.tar into this folder, or to s3://bucket/prefix')
    .option('--project <name>', 'only the project with this name or id, with the configuration that it needs')
    .option(
      '--recipient <key>',
      'encrypt for this public key of an age identity; may be repeated (default: the setting backup_recipients)',
      appended,
      [],
    )
    .option('--json', 'print one line of JSON', false)
    .action(async (flags: Flags & BackupFlags) => {
      await (await import('../backup/backup.ts')).backupFolder(settingsFrom(flags), flags)
    })

  withSource(withSettings(command.command('restore')))
    .description('create a data folder from a backup; the folder must be new or empty')
    .examples(
      'restore --in backup.tar --data restored',
      'restore --from s3://backups/authz --identity key.txt --master-key master.key --data restored',
      'restore --from s3://backups/authz --at 2026-11-23T03:00:00Z --data restored',
    )
    .records('restore')
    .option('--master-key <file>', 'the master key of the backup: it is checked, and put into the folder')
    .option(
      '--at <moment>',
      'restore from shipped changes the state at this time, such as 2026-11-23T03:00:00Z, or `latest` (default for --from: the setting ship_to)',
    )
    .option('--json', 'print one line of JSON', false)
    .action(async (flags: Flags & RestoreFlags & { at?: string }) => {
      // No warning about the folder: restore replaces an empty folder with its own.
      if (flags.at !== undefined) {
        await (await import('../backup/shipped-changes.ts')).restoreMoment(readSettingsFrom(flags), flags.at, flags)
        return
      }
      await (await import('../backup/backup.ts')).restoreFolder(readSettingsFrom(flags), flags)
    })

  const backups = command
    .command('backups')
    .description('list backups, and make a key to encrypt them')
    .records('no record: it lists backups, or writes a new key to a file')
  backups
    .command('identity')
    .description('make an age identity: write the private key to a file, and print the public key')
    .examples('backups identity --out backup-key.txt')
    .requiredOption('--out <file>', 'the file to write; must not exist')
    .option('--json', 'print one line of JSON', false)
    .action(async ({ out, json }: { out: string; json: boolean }) => {
      await (await import('../backup/backup.ts')).makeIdentity(out, json)
    })
  withSettings(backups.command('list'))
    .description('list the backups in a folder or a bucket, the newest first')
    .examples('backups list --from s3://backups/authz', 'backups list --from /var/backups/authz --json')
    .option('--from <place>', 'the folder, or s3://bucket/prefix (default: the settings backup_to or backup_folder)')
    .option('--json', 'print one line of JSON', false)
    .action(async (flags: Flags & { from?: string; json: boolean }) => {
      await (await import('../backup/backup.ts')).listPlacedBackups(readSettingsFrom(flags), flags.from, flags.json)
    })

  withSettings(backups.command('moments'))
    .description('list the moments that can be restored from shipped changes')
    .examples('backups moments --from s3://backups/authz', 'backups moments --from /var/backups/authz --json')
    .option('--from <place>', 'a folder, or s3://bucket/prefix (default: the setting ship_to)')
    .option('--json', 'print one line of JSON', false)
    .action(async (flags: Flags & { from?: string; json: boolean }) => {
      await (await import('../backup/shipped-changes.ts')).listMoments(readSettingsFrom(flags), flags.from, flags.json)
    })

  withSource(withSettings(command.command('drill')))
    .description('restore a backup to a temporary folder, verify it, ask sample questions, and delete the copy')
    .examples(
      'drill --in backup.tar',
      'drill --from s3://backups/authz --identity key.txt --questions questions.ndjson',
    )
    .records('no record: it reads a backup, and removes the copy')
    .option('--master-key <file>', 'the master key of the backup (default: that of the data folder)')
    .option('--questions <file>', 'lines of JSON with expected decisions (default: sampled from the backup)')
    .option('--work <folder>', 'where the copy is restored (default: the folder for temporary files)')
    .option('--json', 'print one line of JSON', false)
    .action(async (flags: Flags & DrillFlags) => {
      await (await import('../backup/drill.ts')).drill(readSettingsFrom(flags), flags)
    })

  withSettings(command.command('export'))
    .description('write a consistent copy of configuration and graphs as lines of JSON; the folder may be served')
    .examples('export --out project.ndjson', 'export --out all.ndjson --audit-logs')
    .records('export')
    .requiredOption('--out <file>', 'the file to write; must not exist; - is the standard output')
    .option('--project <name>', 'only the project with this name or id, with the configuration that it needs')
    .option(
      '--audit-logs <folder>',
      'write the audit logs to this folder; must not exist (default: the file with .audit appended; with - they are left out)',
    )
    .option('--no-audit-logs', 'leave out the audit logs')
    .action(async (flags: Flags & ExportFlags) => {
      await (await import('../folder/transfer.ts')).exportTo(settingsFrom(flags), flags)
    })

  withSettings(command.command('import'))
    .description('import lines of an export, or of your own, into a data folder that is not served')
    .examples('import --in project.ndjson --dry-run', 'import --in project.ndjson')
    .records('import')
    .requiredOption('--in <file>', 'the file to read; - is the standard input')
    .option('--project <name>', 'import the graphs into the project with this name or id, without configuration')
    .option('--dry-run', 'validate every line, list the first 20 that are not valid, and write nothing', false)
    .option('--resume', 'continue an interrupted import of the same file', false)
    .addOption(
      new Option(
        '--on-duplicate <mode>',
        'two lines with a relationship of the same source, type and target: refuse them if their properties differ, merge their properties, or keep the properties of the last one',
      )
        .choices(['refuse', 'merge', 'last'])
        .default('refuse'),
    )
    .option('--json', 'also print the counts as JSON', false)
    .action(async (flags: Flags & ImportFlags) => {
      await (await import('../folder/transfer.ts')).importFrom(settingsFrom(flags), flags)
    })

  command
    .command('copy')
    .description(
      'copy the graphs of a project from a data folder to database servers, or back, and compare both; the folder must not be served',
    )
    .examples(
      'copy --from /var/lib/verdigraph --to bolt://graph.internal:7687/authz --password-file password',
      'copy --from bolt://graph.internal:7687/authz --to /var/lib/verdigraph --project cars',
      'copy --from /var/lib/verdigraph --connection connection.json --switch',
    )
    .records('copy')
    .option('--from <place>', 'a data folder, or the URL of a database, such as bolt://host:7687/database')
    .option('--to <place>', 'the other one; its graph must be empty, or an unfinished copy of the same')
    .option(
      '--connection <file>',
      'instead of the URL: a JSON file with the db_connection of a project, which names the databases of all locations of a composite project',
    )
    .option('--project <name>', 'name or id of the project in the data folder, if there are several')
    .option(
      '--password-file <file>',
      'the file with the password of the database (default: NEO4J_PASSWORD of the environment; NEO4J_USERNAME is the user, default neo4j)',
    )
    .option(
      '--key <Type=property>',
      'from a database: the external ids of nodes with this label that other tools wrote are the values of this property; the label is their type; may be repeated (default: the property external_id)',
      appended,
      [],
    )
    .option('--compare', 'copy nothing, only compare', false)
    .option('--switch', 'if both are equal, connect the project to the database, or to those of --connection', false)
    .option('--settings <file>', 'JSON file with settings')
    .option('--json', 'print one line of JSON', false)
    .action(async (flags: Flags & CopyFlags) => {
      await (await import('../folder/copy.ts')).copy(flags)
    })

  withSettings(command.command('verify'))
    .description('verify all stored data; the folder may be served')
    .examples('verify', 'verify --data /var/lib/verdigraph --json')
    .records('no record: it shows no data, only whether it is damaged')
    .option('--json', 'print one line of JSON', false)
    .action(async (flags: Flags & { json: boolean }) => {
      await (await import('../folder/verify.ts')).verify(settingsFrom(flags).dataDir, flags.json)
    })

  withSettings(command.command('migrate'))
    .description(
      'upgrade a data folder of an earlier version to the current storage format; the folder must not be served',
    )
    .examples('migrate --data /var/lib/verdigraph --check', 'migrate --data /var/lib/verdigraph')
    .records('migrate')
    .option('--check', 'only print what would be done; the folder may be served', false)
    .option('--json', 'print one line of JSON', false)
    .action(async (flags: Flags & { check: boolean; json: boolean }) => {
      const { migrate, checkMigration } = await import('../folder/migrate.ts')
      await (flags.check ? checkMigration : migrate)(settingsFrom(flags), flags.json)
    })

  withSettings(command.command('doctor'))
    .description(
      'check folder, disk, clock, limits, port, places of backups, keys, certificates, sinks, schedules and settings; the folder may be served',
    )
    .examples('doctor', 'doctor --data /var/lib/verdigraph --json')
    .records('no record: it shows names and times of expiry, and no secret')
    .option('--json', 'print one line of JSON', false)
    .action(async (flags: Flags & { json: boolean }) => {
      // No warning about the folder: it is one of the checks.
      await (await import('../doctor/doctor.ts')).doctor(readSettingsFrom(flags), flags.json)
    })

  // Started by `verify` for each environment.
  command
    .command(`${VERIFY_FOLDER_COMMAND} <folder>`, { hidden: true })
    .action(async (folder: string) => (await import('../folder/verify.ts')).runVerifyFolder(folder))
}

/** For commands that read a backup. */
function withSource(command: CliCommand): CliCommand {
  return command
    .option('--in <file>', 'the backup file')
    .option('--from <place>', 'a folder, or s3://bucket/prefix, with backups')
    .option('--name <name>', 'with --from: the backup (default: the newest one)')
    .option('--identity <file>', 'the age identity (private key) of an encrypted backup')
}
