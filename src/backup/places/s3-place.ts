// A prefix of an S3-compatible bucket in which backups are kept. A stream is sent as a multipart upload, of which one part is in memory
// at a time. An object is read in ranges, because the body of an answer that is read slowly would be held in memory.
import { xmlElement, xmlElements, xmlText } from '../../kernel/text/xml-elements.ts'
import { type BackupPlace, isPlaceName, type PlacedObject, PlaceError, requirePlaceName } from './place.ts'
import { type S3Access, type S3Answer, S3Bucket, textOf } from './s3-requests.ts'

const MIB = 1024 * 1024
const PART_BYTES = 8 * MIB
/** https://docs.aws.amazon.com/AmazonS3/latest/userguide/qfacts.html */
const PARTS_MAX = 10_000
const RANGE_BYTES = 8 * MIB

/** A prefix of a bucket as a place. */
export class S3Place implements BackupPlace {
  readonly address: string
  private readonly bucket: S3Bucket
  /** Empty, or ends in a slash. */
  private readonly prefix: string

  /** `prefix`: of segments as `isPlaceName` requires them, without a slash at the end; empty: the whole bucket. */
  constructor(bucket: string, prefix: string, access: S3Access) {
    this.bucket = new S3Bucket(bucket, access)
    this.prefix = prefix === '' ? '' : `${prefix}/`
    this.address = `s3://${bucket}${prefix === '' ? '' : `/${prefix}`}`
  }

  async put(name: string, body: ReadableStream<Uint8Array> | Uint8Array, sizeHint = 0): Promise<void> {
    requirePlaceName(name)
    const key = this.prefix + name
    if (body instanceof Uint8Array) return this.putWhole(key, body)
    const partBytes = Math.max(PART_BYTES, Math.ceil((sizeHint * 1.1) / PARTS_MAX / MIB) * MIB)
    const parts = partsOf(body, partBytes)
    const first = await parts.next()
    const second = first.done ? first : await parts.next()
    if (second.done) return this.putWhole(key, first.done ? new Uint8Array() : first.value)
    await this.putParts(key, [first.value as Uint8Array, second.value], parts)
  }

  async get(name: string): Promise<ReadableStream<Uint8Array>> {
    requirePlaceName(name)
    const key = this.prefix + name
    const { bucket } = this
    const first = await this.range(key, 0, null)
    const total = totalOf(first)
    const etag = first.headers.get('etag')
    let waiting: Uint8Array | null = first.body
    let at = 0
    const readRange = () => this.range(key, at, etag)
    return new ReadableStream<Uint8Array>(
      {
        async pull(controller) {
          if (at >= total) return controller.close()
          const bytes = waiting ?? (await readRange()).body
          waiting = null
          if (bytes.length === 0)
            throw new PlaceError('failed', `s3://${bucket.name}/${key} ended after ${at} of ${total} bytes`)
          at += bytes.length
          controller.enqueue(bytes)
          if (at >= total) controller.close()
        },
      },
      { highWaterMark: 0 },
    )
  }

  async *list(prefix: string): AsyncIterable<PlacedObject> {
    for (let token = ''; ; ) {
      const query = {
        'list-type': '2',
        'encoding-type': 'url',
        prefix: this.prefix + prefix,
        ...(token !== '' && { 'continuation-token': token }),
      }
      const text = textOf(await this.bucket.send({ method: 'GET', key: '', query }))
      for (const entry of xmlElements(text, 'Contents')) {
        const key = decodedKey(xmlElement(entry, 'Key') ?? '')
        const name = key.slice(this.prefix.length)
        if (!key.startsWith(this.prefix) || !isPlaceName(name)) continue
        const modifiedMs = Date.parse(xmlElement(entry, 'LastModified') ?? '')
        yield { name, size: Number(xmlElement(entry, 'Size') ?? 0), modifiedMs: modifiedMs || 0 }
      }
      const next = xmlElement(text, 'NextContinuationToken')
      if (xmlElement(text, 'IsTruncated') !== 'true' || next === null) return
      token = next
    }
  }

  async remove(name: string): Promise<void> {
    requirePlaceName(name)
    await this.bucket.send({ method: 'DELETE', key: this.prefix + name, accepted: [404] })
  }

  async removeIncomplete(isAbandoned: (name: string, startedMs: number) => boolean): Promise<number> {
    let removed = 0
    for await (const { key, id, startedMs } of this.incompleteUploads()) {
      const name = key.slice(this.prefix.length)
      if (!isPlaceName(name) || !isAbandoned(name, startedMs)) continue
      await this.abort(key, id)
      removed++
    }
    return removed
  }

  private async *incompleteUploads(): AsyncIterable<{ key: string; id: string; startedMs: number }> {
    for (let [keyMarker, idMarker] = ['', '']; ; ) {
      const query = {
        uploads: '',
        'encoding-type': 'url',
        prefix: this.prefix,
        ...(keyMarker !== '' && { 'key-marker': keyMarker, 'upload-id-marker': idMarker }),
      }
      const text = textOf(await this.bucket.send({ method: 'GET', key: '', query }))
      for (const upload of xmlElements(text, 'Upload')) {
        const [key, id] = [decodedKey(xmlElement(upload, 'Key') ?? ''), xmlElement(upload, 'UploadId') ?? '']
        if (!key.startsWith(this.prefix) || id === '') continue
        yield { key, id, startedMs: Date.parse(xmlElement(upload, 'Initiated') ?? '') || 0 }
      }
      keyMarker = decodedKey(xmlElement(text, 'NextKeyMarker') ?? '')
      idMarker = xmlElement(text, 'NextUploadIdMarker') ?? ''
      if (xmlElement(text, 'IsTruncated') !== 'true' || keyMarker === '') return
    }
  }

  private async putWhole(key: string, body: Uint8Array): Promise<void> {
    await this.bucket.send({ method: 'PUT', key, body })
  }

  private async putParts(key: string, first: readonly Uint8Array[], rest: AsyncIterable<Uint8Array>): Promise<void> {
    const begun = textOf(await this.bucket.send({ method: 'POST', key, query: { uploads: '' } }))
    const id = xmlElement(begun, 'UploadId')
    if (id === null) throw new PlaceError('failed', `s3://${this.bucket.name}/${key}: the server began no upload`)
    try {
      const etags: string[] = []
      let bytes = 0
      const send = async (part: Uint8Array): Promise<void> => {
        etags.push(await this.putPart(key, id, etags.length + 1, part))
        bytes += part.length
      }
      for (const part of first) await send(part)
      for await (const part of rest) await send(part)
      const parts = etags.map(
        (etag, at) => `<Part><PartNumber>${at + 1}</PartNumber><ETag>${xmlText(etag)}</ETag></Part>`,
      )
      const body = new TextEncoder().encode(
        `<CompleteMultipartUpload xmlns="http://s3.amazonaws.com/doc/2006-03-01/">${parts.join('')}</CompleteMultipartUpload>`,
      )
      const { status } = await this.bucket.send({ method: 'POST', key, query: { uploadId: id }, body, accepted: [404] })
      // The answer to a first request may have been lost.
      if (status === 404 && (await this.sizeOf(key)) !== bytes)
        throw new PlaceError('failed', `s3://${this.bucket.name}/${key}: the server has removed the upload`)
    } catch (failure) {
      // The failure is reported; what cannot be removed now is removed by `removeIncomplete`.
      await this.abort(key, id).catch(() => undefined)
      throw failure
    }
  }

  private async putPart(key: string, id: string, number: number, body: Uint8Array): Promise<string> {
    if (number > PARTS_MAX)
      throw new PlaceError('failed', `s3://${this.bucket.name}/${key} is longer than ${PARTS_MAX} parts`)
    const query = { partNumber: String(number), uploadId: id }
    const { headers } = await this.bucket.send({ method: 'PUT', key, query, body })
    const etag = headers.get('etag')
    if (etag === null)
      throw new PlaceError('failed', `s3://${this.bucket.name}/${key}: a part was answered without ETag`)
    return etag
  }

  /** The length of an object; null: it does not exist. */
  private async sizeOf(key: string): Promise<number | null> {
    const name = key.slice(this.prefix.length)
    for await (const found of this.list(name)) if (found.name === name) return found.size
    return null
  }

  private async abort(key: string, id: string): Promise<void> {
    await this.bucket.send({ method: 'DELETE', key, query: { uploadId: id }, accepted: [404] })
  }

  /** `etag`: of the object that is being read; null: any. */
  private async range(key: string, from: number, etag: string | null): Promise<S3Answer> {
    const headers = { range: `bytes=${from}-${from + RANGE_BYTES - 1}`, ...(etag !== null && { 'if-match': etag }) }
    const answer = await this.bucket.send({ method: 'GET', key, headers, accepted: [412, 416] })
    if (answer.status === 412)
      throw new PlaceError('failed', `s3://${this.bucket.name}/${key} was replaced while it was read`)
    return answer
  }
}

/** The length of an object, from the answer to a range of it. */
function totalOf({ status, headers, body }: S3Answer): number {
  // An empty object has no range.
  if (status === 416) return 0
  if (status !== 206) return body.length
  const total = Number(/\/(\d+)$/.exec(headers.get('content-range') ?? '')?.[1] ?? Number.NaN)
  if (Number.isNaN(total)) throw new PlaceError('failed', 'the server answered a range without its total length')
  return total
}

/** Keys are requested URL-encoded, because XML cannot contain all characters. */
function decodedKey(key: string): string {
  try {
    return decodeURIComponent(key.replaceAll('+', ' '))
  } catch {
    return ''
  }
}

/** Cuts a stream into parts of the same length; the last one may be shorter. */
async function* partsOf(stream: ReadableStream<Uint8Array>, partBytes: number): AsyncGenerator<Uint8Array, void> {
  // Each part has memory of its own: it may be sent again while the next one is filled.
  let part = new Uint8Array(partBytes)
  let filled = 0
  for await (const chunk of stream) {
    for (let at = 0; at < chunk.length; ) {
      const length = Math.min(chunk.length - at, partBytes - filled)
      part.set(chunk.subarray(at, at + length), filled)
      at += length
      filled += length
      if (filled < partBytes) continue
      yield part
      part = new Uint8Array(partBytes)
      filled = 0
    }
  }
  if (filled > 0) yield part.subarray(0, filled)
}
