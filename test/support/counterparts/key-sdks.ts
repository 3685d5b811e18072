// Signs with the vendors' own SDKs, which are installed into the cache folder: what they accept from the fakes of key-services.ts is
// right. Both need TLS.
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { npmPackage, run } from './install.ts'

const authority = join(import.meta.dirname, '..', 'data', 'certificates', 'authority.pem')

/** A signature that an SDK got, and the public key as it reads it. In base64. */
export interface SdkSignature {
  /** PEM (CLOUD2), or a JWK (CLOUD3). */
  readonly publicKey: string
  /** DER (CLOUD2), or r and s (CLOUD3). */
  readonly signature: string
}

const programs = {
  '@google-cloud/kms@6.3.0': `import { createHash } from 'node:crypto'
import { KeyManagementServiceClient } from '@google-cloud/kms'
const { url, resource, text, credentials } = JSON.parse(process.argv[2])
const { hostname, port } = new URL(url)
const client = new KeyManagementServiceClient({
  fallback: true, apiEndpoint: hostname, port: Number(port), credentials: JSON.parse(credentials), projectId: 'customer-1',
})
const [key] = await client.getPublicKey({ name: resource })
const sha256 = createHash('sha256').update(text).digest()
const [signed] = await client.asymmetricSign({ name: resource, digest: { sha256 } })
console.log(JSON.stringify({ publicKey: key.pem, signature: Buffer.from(signed.signature).toString('base64') }))
`,
  '@azure/keyvault-keys@4.10.2': `import { createHash } from 'node:crypto'
import { CryptographyClient, KeyClient } from '@azure/keyvault-keys'
const { url, resource, text, secret } = JSON.parse(process.argv[2])
// As @azure/identity requests a token for the authority and the scope of the challenge.
const credential = {
  async getToken(scopes, { tenantId }) {
    const body = new URLSearchParams({ grant_type: 'client_credentials', client_id: 'client-1', client_secret: secret, scope: [scopes].flat()[0] })
    const response = await fetch(url + '/' + tenantId + '/oauth2/v2.0/token', { method: 'POST', body })
    const { access_token, expires_in } = await response.json()
    return { token: access_token, expiresOnTimestamp: Date.now() + expires_in * 1000 }
  },
}
const options = { disableChallengeResourceVerification: true }
const [, , name, version] = new URL(resource).pathname.split('/')
const key = await new KeyClient(url, credential, options).getKey(name, { version })
const client = new CryptographyClient(url + new URL(resource).pathname, credential, options)
const { result } = await client.sign('ES256', createHash('sha256').update(text).digest())
const { x, y } = key.key
const jwk = { kty: 'EC', crv: key.key.crv, x: Buffer.from(x).toString('base64url'), y: Buffer.from(y).toString('base64url') }
console.log(JSON.stringify({ publicKey: JSON.stringify(jwk), signature: Buffer.from(result).toString('base64') }))
`,
} as const

/** The SDKs that can sign. */
export type KeySdk = keyof typeof programs

/** Has an SDK fetch the key and sign a text. Throws `CounterpartMissing` if it cannot be installed. */
export async function signWithSdk(sdk: KeySdk, input: Readonly<Record<string, string>>): Promise<SdkSignature> {
  const folder = await npmPackage(sdk)
  const program = join(folder, 'sign.js')
  if (!existsSync(program)) writeFileSync(program, programs[sdk])
  const command = ['env', `NODE_EXTRA_CA_CERTS=${authority}`, process.execPath, program, JSON.stringify(input)]
  const output = await run(command, folder, 120)
  return JSON.parse(output.trim().split('\n').at(-1) ?? '')
}
