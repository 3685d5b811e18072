// Issues tokens of the demo's people. The data folder has a separate key for them, and the demo project pins its public
// half. There is no identity provider, and no other project accepts these tokens.
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { exportJWK, generateKeyPair, importJWK, type JWK, SignJWT } from 'jose'
import nodes from '../../../data/demo/nodes.json' with { type: 'json' }
import { DEMO_KEY_FILE } from '../../kernel/folder/data-folder.ts'
import type { Settings } from '../../settings.ts'
import { recordOperation } from '../folder/record-operation.ts'
import { CliError, UsageError } from '../output/cli-error.ts'
import { printLine } from '../output/print.ts'
import { ownCommand } from '../settings/own-command.ts'

/** Issuer and audience of the tokens. */
export const demoIssuer = { issuer: 'https://members.fernhill.example', audience: 'fernhill' } as const

const ALGORITHM = 'ES256'
const people = nodes.nodes.filter(({ type }) => type === 'Person').map(({ external_id }) => external_id)

function keyPath(dataDir: string): string {
  return join(dataDir, DEMO_KEY_FILE)
}

/** Returns the public key as JWK text; creates the key pair if none exists. */
export async function memberPublicKey(dataDir: string): Promise<string> {
  const path = keyPath(dataDir)
  if (!existsSync(path)) {
    const { privateKey } = await generateKeyPair(ALGORITHM, { extractable: true })
    writeFileSync(path, `${JSON.stringify(await exportJWK(privateKey))}\n`, { mode: 0o600 })
  }
  const { d: _, ...known } = readKey(path)
  return JSON.stringify(known)
}

/** Issues a token of `person` that is valid for `lifetimeS` seconds. Returns null if the folder has no key. */
async function memberToken(dataDir: string, person: string, lifetimeS: number): Promise<string | null> {
  const path = keyPath(dataDir)
  if (!existsSync(path)) return null
  return await new SignJWT({})
    .setProtectedHeader({ alg: ALGORITHM, typ: 'at+jwt' })
    .setIssuer(demoIssuer.issuer)
    .setAudience(demoIssuer.audience)
    .setSubject(person)
    .setIssuedAt()
    .setExpirationTime(`${lifetimeS} seconds`)
    .sign(await importJWK(readKey(path), ALGORITHM))
}

/** Runs `demo-token`: prints only the token. Rejects with UsageError if there is no such person, CliError without the demo. */
export async function printMemberToken(settings: Settings, person: string, lifetimeS: number): Promise<void> {
  const { dataDir } = settings
  if (!people.includes(person))
    throw new UsageError([`the demo has no person \`${person}\`: expected one of ${people.join(', ')}`])
  const token = await memberToken(dataDir, person, lifetimeS)
  if (token === null) {
    const command = ownCommand(['serve', '--demo', '--data', dataDir])
    throw new CliError([`${dataDir} does not contain the demo; \`${command}\` loads it`])
  }
  const issued = { outcome: 'ok', subject: person, lifetimeS }
  await recordOperation(settings, 'svc.audit.operations.token.issue', issued)
  printLine(token)
}

function readKey(path: string): JWK {
  return JSON.parse(readFileSync(path, 'utf8')) as JWK
}
