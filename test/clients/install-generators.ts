// Installs the pinned generators of `test/clients/package-lock.json`, once before the tests of clients: several files need them, and
// workers that install into one folder at the same time disturb each other.
import { runProgram } from '../../clients/run-program.ts'

export default async function installGenerators(): Promise<void> {
  await runProgram(['npm', 'install', '--no-audit', '--no-fund', '--prefer-offline', '--no-save'], {
    cwd: import.meta.dirname,
  })
}
