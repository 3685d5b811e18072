// The folders of Go modules, which the Go toolchain downloads. This repository contains no files of peers.
import { execFileSync } from 'node:child_process'
import { tmpdir } from 'node:os'

/** The folder of a module of this version. Throws if it cannot be downloaded. */
export function moduleFolder(module: string, version: string): string {
  const env = { ...process.env, GOTOOLCHAIN: 'local' }
  const args = ['mod', 'download', '-json', `${module}@${version}`]
  const printed = execFileSync('go', args, {
    cwd: tmpdir(),
    env,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  return (JSON.parse(printed) as { readonly Dir: string }).Dir
}
