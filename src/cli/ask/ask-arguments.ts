// The arguments of questions: entities, parameters and tokens. All functions throw UsageError.
import { existsSync, readFileSync } from 'node:fs'
import type { AuthorizerToken, RequestEntity, RequestParameters } from '../../authorizer/authorizer.ts'
import { isJsonObject } from '../../kernel/json/json-kind.ts'
import { UsageError } from '../output/cli-error.ts'
import type { AskOptions } from '../target/target-place.ts'

/** The options of questions about decisions. */
export interface QuestionFlags {
  /** `name=value`; the value is JSON, or a text. */
  readonly param: readonly string[]
  readonly tag: readonly string[]
  readonly token?: string
  readonly tokenClaims?: string
}

/** Reads `TYPE:ID`. The id is everything after the first colon. `name`: of the argument, for messages. */
export function entityFrom(text: string, name: string): RequestEntity {
  const colon = text.indexOf(':')
  if (colon > 0 && colon < text.length - 1) return { type: text.slice(0, colon), id: text.slice(colon + 1) }
  throw new UsageError([`${name}: expected TYPE:ID, such as Person:ann, found \`${text}\``])
}

/** Reads the values of `--param`, by name. */
export function parametersFrom(pairs: readonly string[]): Readonly<Record<string, unknown>> {
  const parameters = Object.create(null) as Record<string, unknown>
  for (const pair of pairs) {
    const at = pair.indexOf('=')
    if (at < 1) throw new UsageError([`--param: expected NAME=VALUE, such as min=4, found \`${pair}\``])
    const name = pair.slice(0, at).replace(/^\$/, '')
    if (name in parameters)
      throw new UsageError([`--param: ${name} is given twice; a list is a JSON value: ${name}='["a","b"]'`])
    parameters[name] = valueFrom(pair.slice(at + 1))
  }
  return { ...parameters }
}

/** A JSON value, or the text as it is: `4` is a number, `"4"` and `x` are texts. */
function valueFrom(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

/** The `context` of a request; null: it needs none. */
export function requestParameters({ param, tag }: QuestionFlags): RequestParameters | null {
  if (param.length === 0 && tag.length === 0) return null
  return {
    ...(param.length > 0 && { input_params: parametersFrom(param) }),
    ...(tag.length > 0 && { policy_tags: tag }),
  }
}

/**
 * The user on whose behalf the question is asked. `subject`: null: the question has none. The claims of `--token-claims` are those of
 * a token whose user is `sub`, by default the subject.
 */
export function askOptions({ token, tokenClaims }: QuestionFlags, subject: RequestEntity | null): AskOptions {
  if (token !== undefined && tokenClaims !== undefined) {
    throw new UsageError(['expected either --token or --token-claims'])
  }
  if (token !== undefined) return { userToken: contentOf(token, '--token').trim() }
  if (tokenClaims === undefined) return {}
  return { claims: tokenFrom(contentOf(tokenClaims, '--token-claims'), subject) }
}

/** A token is a secret, and other users of the machine can see arguments: `@FILE` reads a file. */
function contentOf(text: string, option: string): string {
  if (!text.startsWith('@')) return text
  const path = text.slice(1)
  if (!existsSync(path)) throw new UsageError([`${option}: ${path} does not exist`])
  return readFileSync(path, 'utf8')
}

function tokenFrom(text: string, subject: RequestEntity | null): AuthorizerToken {
  const claims = valueFrom(text)
  if (!isJsonObject(claims)) {
    throw new UsageError([`--token-claims: expected a JSON object, such as '{"sub":"ann"}', found \`${text}\``])
  }
  const { sub = subject?.id } = claims
  if (typeof sub !== 'string') throw new UsageError(['--token-claims: expected the claim `sub`, the id of the user'])
  return { type: subject?.type ?? '', id: sub, claims }
}

/** Reads `--limit`; undefined: no limit. */
export function limitFrom(text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  const limit = Number(text)
  if (Number.isSafeInteger(limit) && limit >= 1) return limit
  throw new UsageError([`--limit: expected an integer from 1, found \`${text}\``])
}
