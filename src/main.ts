// The entry point of the process: arguments in, exit code out.
import { runCli } from './cli/program.ts'

// Files that this process and its children create (data, logs, backups, exports) are readable by their owner only.
process.umask(0o077)
await runCli(process.argv)
