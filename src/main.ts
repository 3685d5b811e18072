// The process door: arguments in, exit code out.
import { runCli } from './cli/program.ts'

await runCli(process.argv)
