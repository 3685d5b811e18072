// The verifiers of audit logs in Go, on the libraries of the Go project and of transparency-dev: of a whole log, and the program for
// one proof in the page for auditors.
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { counterpartMissing, hasCommand, installed, run } from './install.ts'

const folder = join(import.meta.dirname, 'go', 'audit-verifier')
const page = join(import.meta.dirname, '../../../docs/how-to/for-auditors.md')

/** Builds the verifier of logs once. Resolves with its path. Throws `CounterpartMissing` without Go. */
export function buildAuditVerifier(): Promise<string> {
  return build('audit-verifier', readFileSync(join(folder, 'main.go'), 'utf8'))
}

/** Builds the program of the page for auditors. As `buildAuditVerifier`. */
export function buildProofVerifier(): Promise<string> {
  const [, source = ''] = /```go\n(.*?)```/s.exec(readFileSync(page, 'utf8')) ?? []
  return build('proof-verifier', source)
}

async function build(name: string, source: string): Promise<string> {
  if (!hasCommand('go')) throw counterpartMissing('there is no go')
  const files: [name: string, text: string][] = [['main.go', source]]
  for (const file of ['go.mod', 'go.sum']) files.push([file, readFileSync(join(folder, file), 'utf8')])
  const version = new Bun.CryptoHasher('sha256')
  for (const [, text] of files) version.update(text)
  const built = await installed(`${name}-${version.digest('hex').slice(0, 16)}`, async (target) => {
    for (const [file, text] of files) writeFileSync(join(target, file), text)
    await run(['go', 'build', '-p', '1', '-o', name, '.'], target)
  })
  return join(built, name)
}
