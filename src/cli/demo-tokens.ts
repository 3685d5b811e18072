// Tokens of the demo's people: the data folder keeps a key of its own for them, and the demo's project pins its public half.
// There is no identity provider behind it, and no other project takes these tokens.
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { exportJWK, generateKeyPair, importJWK, type JWK, SignJWT } from 'jose'
import nodes from '../../data/demo/nodes.json' with { type: 'json' }
import type { Settings } from '../settings.ts'
import { CliError } from './cli-error.ts'

export const demoIssuer = { issuer: 'https://members.fernhill.example', audience: 'fernhill' } as const

const ALGORITHM = 'ES256'
const people = nodes.nodes.filter(({ type }) => type === 'Person').map(({ external_id }) => external_id)

function keyPath(dataDir: string): string {
  return join(dataDir, 'demo-members.json')
}

/** The public half as the text of a JWK; makes the key where there is none. */
export async function memberPublicKey(dataDir: string): Promise<string> {
  const path = keyPath(dataDir)
  if (!existsSync(path)) {
    const { privateKey } = await generateKeyPair(ALGORITHM, { extractable: true })
    writeFileSync(path, `${JSON.stringify(await exportJWK(privateKey))}\n`, { mode: 0o600 })
  }
  const { d: _, ...known } = readKey(path)
  return JSON.stringify(known)
}

/** Null: the folder has no key for it, or has lost it. */
export async function memberToken(dataDir: string, person: string, lifetimeS: number): Promise<string | null> {
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

/** For the shell: the token and nothing else. */
export async function printMemberToken({ dataDir }: Settings, person: string, lifetimeS: number): Promise<void> {
  if (!people.includes(person))
    throw new CliError([`no \`${person}\` in the demo: expected one of ${people.join(', ')}`])
  const token = await memberToken(dataDir, person, lifetimeS)
  if (token === null) throw new CliError([`${dataDir} holds no demo; \`verdigraph serve --demo\` loads it`])
  console.log(token)
}

function readKey(path: string): JWK {
  return JSON.parse(readFileSync(path, 'utf8')) as JWK
}
