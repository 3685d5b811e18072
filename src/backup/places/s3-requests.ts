// Requests to an S3-compatible server: signed with Signature Version 4, with the SHA-256 of the body, and repeated if the failure can
// pass. Why not the client of Bun: docs/decisions/0059-backups-by-itself.md.
// https://docs.aws.amazon.com/AmazonS3/latest/API/Type_API_Reference.html

import { createHash } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { AwsV4Signer } from 'aws4fetch'
import { xmlElement } from '../../kernel/text/xml-elements.ts'
import { backoffMs } from '../../kernel/time/backoff.ts'
import { PlaceError } from './place.ts'

/** How an S3-compatible server is reached. */
export interface S3Access {
  readonly accessKeyId: string
  readonly secretAccessKey: string
  /** Of temporary credentials. */
  readonly sessionToken?: string
  readonly region: string
  /** Such as `https://minio.example.org`; absent: the public service of the region. */
  readonly endpoint?: string
  /** Time limit of one attempt, milliseconds, and how many there are; absent: those of a transfer. */
  readonly attemptMs?: number
  readonly attempts?: number
}

/** A request about a key of the bucket, or about the bucket if the key is empty. */
interface S3Request {
  readonly method: 'GET' | 'PUT' | 'POST' | 'DELETE'
  readonly key: string
  readonly query?: Readonly<Record<string, string>>
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: Uint8Array
  /** Statuses that are answers and no failures, in addition to 2xx. */
  readonly accepted?: readonly number[]
}

/** A complete answer. */
export interface S3Answer {
  readonly status: number
  readonly headers: Headers
  readonly body: Uint8Array
}

/** An attempt may take so long that a part passes over 0.3 Mbit/s. */
const ATTEMPT_MS = 240_000
const ATTEMPTS = 5
/** The longest delay before the second attempt. It doubles. */
const RETRY_MS = 1000
const REPEATABLE = new Set([408, 429, 500, 502, 503, 504])
/** Answers with status 400 that can pass. */
const PASSING_CODES = new Set(['RequestTimeout', 'IncompleteBody', 'SlowDown', 'InternalError'])
const ERROR_LENGTH_MAX = 300

/** The client of one bucket. */
export class S3Bucket {
  readonly name: string
  private readonly access: S3Access
  private readonly base: string

  constructor(name: string, access: S3Access) {
    this.name = name
    this.access = access
    const { endpoint, region } = access
    // A certificate for `*.s3.….amazonaws.com` does not cover names with dots.
    if (endpoint !== undefined) this.base = `${endpoint.replace(/\/+$/, '')}/${name}`
    else if (name.includes('.')) this.base = `https://s3.${region}.${domainOf(region)}/${name}`
    else this.base = `https://${name}.s3.${region}.${domainOf(region)}`
  }

  /** Sends a request, repeatedly if necessary. Rejects with PlaceError. */
  async send(request: S3Request): Promise<S3Answer> {
    const { attempts = ATTEMPTS } = this.access
    for (let attempt = 1; ; attempt++) {
      const outcome = await this.attempt(request)
      if ('status' in outcome) return outcome
      if (!outcome.canPass || attempt >= attempts) throw outcome.error
      await delay(Math.random() * backoffMs({ minMs: RETRY_MS }, attempt))
    }
  }

  private async attempt(request: S3Request): Promise<S3Answer | { error: PlaceError; canPass: boolean }> {
    const { method, accepted = [], body } = request
    const { attemptMs = ATTEMPT_MS } = this.access
    let answer: S3Answer
    try {
      const { url, headers } = await this.signed(request)
      const response = await fetch(url, {
        method,
        headers,
        ...(body !== undefined && { body: body as Uint8Array<ArrayBuffer> }),
        redirect: 'manual',
        signal: AbortSignal.timeout(attemptMs),
      })
      answer = {
        status: response.status,
        headers: response.headers,
        body: new Uint8Array(await response.arrayBuffer()),
      }
    } catch (failure) {
      const { code, name, message } = failure as { code?: string; name: string; message: string }
      const why = name === 'TimeoutError' ? `no answer within ${attemptMs / 1000} s` : (code ?? message)
      return { error: new PlaceError('unreachable', `${this.describe(request)}: ${why}`), canPass: true }
    }
    const { status } = answer
    // A failure after the server began to answer has the status 200.
    const isFailedCopy = status === 200 && method === 'POST' && textOf(answer).includes('<Error>')
    if (((status >= 200 && status < 300) || accepted.includes(status)) && !isFailedCopy) return answer
    return this.failure(request, answer)
  }

  private failure(request: S3Request, answer: S3Answer): { error: PlaceError; canPass: boolean } {
    const { status } = answer
    const text = textOf(answer)
    const code = xmlElement(text, 'Code') ?? ''
    const detail = [code, xmlElement(text, 'Message') ?? ''].filter((part) => part !== '').join(': ')
    const shown = this.withoutSecrets(detail.replace(/[^\x20-\x7e]+/g, ' ')).slice(0, ERROR_LENGTH_MAX)
    const reason = reasonOf(status, code)
    const isMoved = status >= 300 && status < 400
    const hint = isMoved ? ' (is the region right?)' : ''
    const message = `${this.describe(request)}: status ${status}${shown === '' ? '' : `, ${shown}`}${hint}`
    const canPass = REPEATABLE.has(status) || PASSING_CODES.has(code) || (status === 200 && code !== 'NoSuchUpload')
    return { error: new PlaceError(reason, message), canPass }
  }

  private async signed({ method, key, query = {}, headers = {}, body }: S3Request): Promise<{
    url: string
    headers: Headers
  }> {
    const { accessKeyId, secretAccessKey, sessionToken, region } = this.access
    const path = key === '' ? this.base : `${this.base}/${key}`
    const search = new URLSearchParams(query).toString()
    const signed = await new AwsV4Signer({
      method,
      url: search === '' ? path : `${path}?${search}`,
      // The server compares the body with its hash.
      headers: {
        ...headers,
        'x-amz-content-sha256': createHash('sha256')
          .update(body ?? '')
          .digest('hex'),
      },
      ...(body !== undefined && { body: body as Uint8Array<ArrayBuffer> }),
      accessKeyId,
      secretAccessKey,
      ...(sessionToken !== undefined && { sessionToken }),
      service: 's3',
      region,
    }).sign()
    return { url: signed.url.href, headers: signed.headers }
  }

  private describe({ method, key }: S3Request): string {
    return `${method} s3://${this.name}/${key} at ${new URL(this.base).host}`
  }

  private withoutSecrets(text: string): string {
    const { secretAccessKey, sessionToken = '' } = this.access
    return [secretAccessKey, sessionToken].reduce(
      (shown, secret) => (secret === '' ? shown : shown.replaceAll(secret, '…')),
      text,
    )
  }
}

function domainOf(region: string): string {
  return region.startsWith('cn-') ? 'amazonaws.com.cn' : 'amazonaws.com'
}

/** The text of an answer that is an XML document. */
export function textOf({ body }: S3Answer): string {
  return new TextDecoder().decode(body)
}

function reasonOf(status: number, code: string): PlaceError['reason'] {
  if (status === 404) return code === 'NoSuchUpload' ? 'failed' : 'absent'
  if (status === 401 || status === 403) return 'refused'
  return REPEATABLE.has(status) ? 'unreachable' : 'failed'
}
