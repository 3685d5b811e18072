// The process door: arguments in, exit code out.
import { runCli } from './cli/program.ts'

// Whatever this process or one that it starts writes is for its user alone (data, logs, backups, exports).
process.umask(0o077)
await runCli(process.argv)
