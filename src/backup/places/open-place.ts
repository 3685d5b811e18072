// Opens the place of an address, with credentials from the usual environment variables.
import { OperationalError } from '../../kernel/errors.ts'
import { FolderPlace } from './folder-place.ts'
import type { BackupPlace } from './place.ts'
import { bucketOf, folderOf, isS3Address, placeAddressProblem } from './place-address.ts'
import { S3Place } from './s3-place.ts'
import type { S3Access } from './s3-requests.ts'

const REGION = /^[a-z0-9][a-z0-9-]{0,62}$/
const REGION_DEFAULT = 'us-east-1'

/**
 * Opens a place.
 * @param address `s3://bucket/prefix`, `file:///…` or the path of a folder.
 * @param access For an S3-compatible server; null: there are no credentials. See `s3AccessOf`.
 * @throws OperationalError if the address is not one of a place, or the credentials are missing.
 */
export function openPlace(address: string, access: S3Access | null): BackupPlace {
  const problem = placeAddressProblem(address)
  if (problem !== null) throw new OperationalError(problem)
  if (!isS3Address(address)) return new FolderPlace(folderOf(address))
  if (access === null)
    throw new OperationalError(
      `${address} needs credentials: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY (and AWS_ENDPOINT_URL_S3 for a server of your own)`,
    )
  const { bucket, prefix } = bucketOf(address)
  return new S3Place(bucket, prefix, access)
}

/**
 * How an S3-compatible server is reached, by the variables that programs for it read; null: there is no access key.
 * https://docs.aws.amazon.com/sdkref/latest/guide/environment-variables.html
 * @throws OperationalError if the endpoint or the region is wrong.
 */
export function s3AccessOf(environment: Readonly<Record<string, string | undefined>>): S3Access | null {
  const variable = (...names: readonly string[]): string =>
    names.map((name) => environment[name] ?? '').find((value) => value !== '') ?? ''
  const [accessKeyId, secretAccessKey] = [variable('AWS_ACCESS_KEY_ID'), variable('AWS_SECRET_ACCESS_KEY')]
  if (accessKeyId === '' || secretAccessKey === '') return null
  const sessionToken = variable('AWS_SESSION_TOKEN')
  const region = variable('AWS_REGION', 'AWS_DEFAULT_REGION') || REGION_DEFAULT
  if (!REGION.test(region)) throw new OperationalError('AWS_REGION is not the name of a region, such as `eu-west-1`')
  const endpoint = variable('AWS_ENDPOINT_URL_S3', 'AWS_ENDPOINT_URL')
  if (endpoint !== '' && !isEndpoint(endpoint))
    throw new OperationalError('AWS_ENDPOINT_URL_S3 is not an http or https URL without credentials and query')
  return {
    accessKeyId,
    secretAccessKey,
    ...(sessionToken !== '' && { sessionToken }),
    region,
    ...(endpoint !== '' && { endpoint }),
  }
}

function isEndpoint(text: string): boolean {
  const url = URL.parse(text)
  return (
    url !== null &&
    ['http:', 'https:'].includes(url.protocol) &&
    url.username + url.password + url.search + url.hash === ''
  )
}
