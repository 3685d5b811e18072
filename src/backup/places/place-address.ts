// Addresses of places: paths of folders, `file:///…` and `s3://bucket/prefix`.
import { isAbsolute } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { isPlaceName } from './place.ts'

const S3_SCHEME = 's3://'
/** https://docs.aws.amazon.com/AmazonS3/latest/userguide/bucketnamingrules.html */
const BUCKET = /^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/
/** A single letter is a drive. */
const SCHEME = /^[A-Za-z][A-Za-z0-9+.-]+:/

/** True if the address is one of an S3-compatible server, and not a folder. */
export function isS3Address(address: string): boolean {
  return address.startsWith(S3_SCHEME)
}

/** Why an address is not one of a place; null: it is one. Secrets in it are not repeated. */
export function placeAddressProblem(address: string): string | null {
  if (!isS3Address(address)) {
    if (!SCHEME.test(address) || isFileUrl(address)) return address === '' ? 'the address of the place is empty' : null
    return 'the place of backups is neither a folder nor `s3://bucket/prefix`; write a folder with a colon in its name as `./NAME`'
  }
  const { bucket, prefix } = bucketOf(address)
  if (/[@?#]/.test(address))
    return 'the address of the place is `s3://bucket/prefix` without credentials, query and fragment'
  if (!BUCKET.test(bucket)) return `\`${bucket}\` is not a name of a bucket: expected \`s3://bucket/prefix\``
  if (prefix !== '' && !isPlaceName(prefix))
    return `\`${prefix}\` is not a prefix for backups: use letters, digits, \`.\`, \`_\` and \`-\`, separated by \`/\``
  return null
}

/** Bucket and prefix of an address that `isS3Address` accepts. */
export function bucketOf(address: string): { bucket: string; prefix: string } {
  const [bucket = '', ...rest] = address.slice(S3_SCHEME.length).split('/')
  return { bucket, prefix: rest.join('/').replace(/\/$/, '') }
}

function isFileUrl(address: string): boolean {
  if (!address.startsWith('file:///')) return false
  try {
    return isAbsolute(fileURLToPath(address))
  } catch {
    return false
  }
}

/** The path of an address that is one of a folder. */
export function folderOf(address: string): string {
  return address.startsWith('file:///') ? fileURLToPath(address) : address
}

/** An address as answers and reports name it: `s3://…`, or `file:///…` for a folder. */
export function placeUrl(address: string): string {
  return isS3Address(address) ? address : pathToFileURL(folderOf(address)).href
}
