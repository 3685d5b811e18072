// `subscriptions/listen`: a request whose answer is a stream of notices, each with the request's id, until either side ends it.
import type { ServiceError } from '../../kernel/errors.ts'
import { foundName, isJsonObject } from '../../kernel/found.ts'
import { writeJson } from '../../kernel/json.ts'
import { ok, type Result } from '../../kernel/result.ts'
import type { Listening } from '../listeners.ts'
import type { Live, McpCaller } from '../parts.ts'
import { isResourceUri } from '../resources.ts'
import {
  errorAnswer,
  eventOf,
  invalidParams,
  type Members,
  noticeEvent,
  type RpcAnswer,
  type RpcError,
  type RpcId,
  rpcCodes,
  writtenAnswer,
} from '../rpc.ts'

export const LISTEN = 'subscriptions/listen'

const SUBSCRIPTION_KEY = 'io.modelcontextprotocol/subscriptionId'

/** Every notice repeats the id, and every address that is listened to may wait to be told: both are bounded. */
const ID_LENGTH_MAX = 256
const URIS_MAX = 100
const URI_LENGTH_MAX = 1024

/** What can be told of what was asked for. */
interface Filter {
  readonly resourcesListChanged?: true
  readonly resourceSubscriptions?: readonly string[]
}

export function listen(
  listening: Listening,
  caller: McpCaller,
  id: RpcId,
  { notifications }: Members,
  /** JSON members of `_meta`. */
  card: Members,
): Result<RpcAnswer, ServiceError> {
  if (typeof id === 'string' && id.length > ID_LENGTH_MAX) {
    return refuse(id, {
      code: rpcCodes.invalidParams,
      message: `id: expected at most ${ID_LENGTH_MAX} characters, to listen`,
    })
  }
  const filter = readFilter(notifications)
  if (!filter.ok) return refuse(id, filter.error)
  const { resourcesListChanged, resourceSubscriptions = [] } = filter.value
  const tag = { [SUBSCRIPTION_KEY]: id }
  const first = [noticeEvent('notifications/subscriptions/acknowledged', { notifications: filter.value, _meta: tag })]
  const result = writeJson({ resultType: 'complete', _meta: { ...tag, ...card } })
  const last = [eventOf(writtenAnswer(id, result).text)]
  if (resourcesListChanged === undefined && resourceSubscriptions.length === 0) {
    // Nothing that was asked for ever changes.
    return ok(stream(said([...first, ...last])))
  }
  const listChanged = noticeEvent('notifications/resources/list_changed', { _meta: tag })
  const listened = listening.listen({
    caller,
    place: null,
    first,
    last,
    told: (uris) => [
      ...(resourcesListChanged === true ? [listChanged] : []),
      ...resourceSubscriptions
        .filter((uri) => uris.has(uri))
        .map((uri) => noticeEvent('notifications/resources/updated', { uri, _meta: tag })),
    ],
    stands: () => true,
  })
  return listened.ok ? ok(stream(listened.value)) : listened
}

function readFilter(given: unknown): Result<Filter, RpcError> {
  if (!isJsonObject(given)) return invalidParams(`notifications: expected object, found ${foundName(given)}`)
  for (const name of ['toolsListChanged', 'promptsListChanged', 'resourcesListChanged']) {
    const wanted = given[name]
    if (wanted !== undefined && typeof wanted !== 'boolean') {
      return invalidParams(`notifications.${name}: expected boolean, found ${foundName(wanted)}`)
    }
  }
  const { resourcesListChanged, resourceSubscriptions = [] } = given
  if (!Array.isArray(resourceSubscriptions) || resourceSubscriptions.some((uri) => typeof uri !== 'string')) {
    return invalidParams('notifications.resourceSubscriptions: expected an array of strings')
  }
  const uris = [...new Set(resourceSubscriptions as string[])].filter(
    (uri) => uri.length <= URI_LENGTH_MAX && isResourceUri(uri),
  )
  if (uris.length > URIS_MAX) {
    return invalidParams(`notifications.resourceSubscriptions: expected at most ${URIS_MAX} addresses`)
  }
  return ok({
    ...(resourcesListChanged === true && { resourcesListChanged }),
    ...(uris.length > 0 && { resourceSubscriptions: uris }),
  })
}

async function* said(events: readonly string[]): AsyncGenerator<string, void> {
  yield* events
}

function stream(live: Live): RpcAnswer {
  return { status: 200, text: '', live }
}

function refuse(id: RpcId, error: RpcError): Result<RpcAnswer, ServiceError> {
  return ok(errorAnswer(200, id, error))
}
