// The verifier of audit logs in Go, on the libraries of the Go project and of transparency-dev.
import { copyFileSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { CounterpartMissing, hasCommand, installed, run } from './install.ts'

const sources = ['main.go', 'go.mod', 'go.sum']

/** Builds the verifier once. Resolves with its path. Throws `CounterpartMissing` without Go. */
export async function buildAuditVerifier(): Promise<string> {
  if (!hasCommand('go')) throw new CounterpartMissing('there is no go')
  const folder = join(import.meta.dirname, 'go', 'audit-verifier')
  const version = new Bun.CryptoHasher('sha256')
  for (const name of sources) version.update(readFileSync(join(folder, name)))
  const built = await installed(`audit-verifier-${version.digest('hex').slice(0, 16)}`, async (target) => {
    for (const name of sources) copyFileSync(join(folder, name), join(target, name))
    await run(['go', 'build', '-p', '1', '-o', 'audit-verifier', '.'], target)
  })
  return join(built, 'audit-verifier')
}
