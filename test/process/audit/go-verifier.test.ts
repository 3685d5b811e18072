// An independent verifier, in Go on golang.org/x/mod/sumdb and transparency-dev/formats, agrees about a log that this project
// wrote, and about one in which a byte was changed.
import { generateKeyPairSync } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { parseNote, signNote, witnessSigner, witnessVerifierKey } from '../../../src/audit/log/signed-note.ts'
import { newLogKey, WrittenLog } from '../../support/audit-log.ts'
import { buildAuditVerifier } from '../../support/counterparts/audit-verifier.ts'
import { CounterpartMissing } from '../../support/counterparts/install.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

const ORIGIN = 'verdigraph/projects/abc/qwertyuiop'
const ENTRIES = 70_000
const OLDER = 12_345

const verifier = await buildAuditVerifier().catch((fault: unknown) => {
  if (!(fault instanceof CounterpartMissing)) throw fault
  console.log(`skipped: ${fault.message}`)
  return null
})

describe.skipIf(verifier === null)('a verifier in Go', () => {
  const [platform, customer] = [newLogKey(ORIGIN), newLogKey('customer.example/key')]
  const witness = generateKeyPairSync('ed25519')
  const vkeys = [platform.vkey, customer.vkey, witnessVerifierKey('witness.example/w1', witness.publicKey)]
  let log: WrittenLog
  let older: string

  beforeAll(async () => {
    log = new WrittenLog(temporaryFolder(), ORIGIN)
    const signers = [
      platform.signer,
      customer.signer,
      witnessSigner('witness.example/w1', witness.privateKey, 1_700_000_000),
    ]
    await log.grow(OLDER, signers)
    older = join(temporaryFolder(), 'older')
    writeFileSync(older, log.note)
    await log.grow(ENTRIES - OLDER, signers)
  })

  async function run(...args: string[]): Promise<{ code: number; output: string }> {
    const child = Bun.spawn([verifier as string, log.folder, ORIGIN, ...args], { stdout: 'pipe', stderr: 'pipe' })
    const [out, errors, code] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited])
    return { code, output: out + errors }
  }

  it('verifies signatures, 70,000 entries, proofs at the borders of tiles, and an older checkpoint', async () => {
    const { code, output } = await run(vkeys.join(','), older)
    console.log(output)
    expect([code, output]).toEqual([
      0,
      [
        `checkpoint: ${ENTRIES} entries, signed by ${ORIGIN} and customer.example/key and witness.example/w1`,
        `entries: ${ENTRIES} of ${ENTRIES} read, 0 bad`,
        'inclusion proofs: 9 verified',
        `consistency: continues the checkpoint of ${OLDER} entries`,
        '',
      ].join('\n'),
    ])
  })

  it('finds a changed entry, a checkpoint that does not fit, and another key', async () => {
    const bundle = join(log.folder, 'tile/entries/100')
    const bytes = readFileSync(bundle)
    writeFileSync(bundle, bytes.with(50, (bytes[50] as number) ^ 1))
    expect(await run(platform.vkey)).toMatchObject({
      code: 1,
      output: expect.stringContaining('entry 25600 does not have'),
    })
    writeFileSync(bundle, bytes)
    const note = readFileSync(join(log.folder, 'checkpoint'), 'utf8')
    const parsed = parseNote(note)
    const text = parsed.ok ? parsed.value.text.replace(`\n${ENTRIES}\n`, `\n${ENTRIES - 1}\n`) : ''
    writeFileSync(join(log.folder, 'checkpoint'), await signNote(text, [platform.signer]))
    expect((await run(platform.vkey)).code).toBe(1)
    writeFileSync(join(log.folder, 'checkpoint'), note)
    expect((await run(newLogKey(ORIGIN).vkey)).code).toBe(1)
    expect((await run(platform.vkey)).code).toBe(0)
  })
})
