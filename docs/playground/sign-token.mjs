// Prints a user token of the playground's issuer. Arguments: subject, and further claims as JSON. Environment: ISSUER_KEY.
import { createPrivateKey, sign } from 'node:crypto'

const [subject, claims = '{}'] = process.argv.slice(2)
const key = createPrivateKey({ key: Buffer.from(process.env.ISSUER_KEY, 'base64'), format: 'der', type: 'pkcs8' })
const nowS = Math.floor(Date.now() / 1000)
const payload = {
  iss: 'https://people.example.org',
  aud: 'playground',
  sub: subject,
  iat: nowS,
  exp: nowS + 3600,
  ...JSON.parse(claims),
}
const encode = (value) => Buffer.from(JSON.stringify(value)).toString('base64url')
const signed = `${encode({ alg: 'ES256', typ: 'JWT' })}.${encode(payload)}`
console.log(
  `${signed}.${sign('sha256', Buffer.from(signed), { key, dsaEncoding: 'ieee-p1363' }).toString('base64url')}`,
)
