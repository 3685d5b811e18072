// `subscriptions/listen`: a request whose answer is a stream of notices, each with the request's id, until either side ends it.
import type { ServiceError } from '../../kernel/errors.ts'
import { writeJson } from '../../kernel/json.ts'
import { isJsonObject, jsonKindOf } from '../../kernel/json-kind.ts'
import { ok, type Result } from '../../kernel/result.ts'
import {
  errorResponse,
  invalidParams,
  notificationEvent,
  type RpcAnswer,
  type RpcError,
  type RpcId,
  type RpcObject,
  rpcCodes,
  serializedResponse,
  toEvent,
} from '../json-rpc.ts'
import type { EventStream, McpCaller } from '../method.ts'
import { isResourceUri } from '../resources.ts'
import type { SubscriptionService } from '../subscriptions.ts'

export const LISTEN_METHOD = 'subscriptions/listen'

const SUBSCRIPTION_KEY = 'io.modelcontextprotocol/subscriptionId'

/** Every notice repeats the id, and every address that is listened to may wait to be told: both are bounded. */
const ID_LENGTH_MAX = 256
const URIS_MAX = 100
const URI_LENGTH_MAX = 1024

/** What can be told of what was asked for. */
interface NotificationFilter {
  readonly resourcesListChanged?: true
  readonly resourceSubscriptions?: readonly string[]
}

export function listenForNotifications(
  listening: SubscriptionService,
  caller: McpCaller,
  id: RpcId,
  { notifications }: RpcObject,
  /** JSON members of `_meta`. */
  card: RpcObject,
): Result<RpcAnswer, ServiceError> {
  if (typeof id === 'string' && id.length > ID_LENGTH_MAX) {
    return errorResult(id, {
      code: rpcCodes.invalidParams,
      message: `id: expected at most ${ID_LENGTH_MAX} characters, to listen`,
    })
  }
  const filter = readFilter(notifications)
  if (!filter.ok) return errorResult(id, filter.error)
  const { resourcesListChanged, resourceSubscriptions = [] } = filter.value
  const tag = { [SUBSCRIPTION_KEY]: id }
  const first = [
    notificationEvent('notifications/subscriptions/acknowledged', { notifications: filter.value, _meta: tag }),
  ]
  const result = writeJson({ resultType: 'complete', _meta: { ...tag, ...card } })
  const last = [toEvent(serializedResponse(id, result).text)]
  if (resourcesListChanged === undefined && resourceSubscriptions.length === 0) {
    // Nothing that was asked for ever changes.
    return ok(streamResponse(eventsOnly([...first, ...last])))
  }
  const listChanged = notificationEvent('notifications/resources/list_changed', { _meta: tag })
  const listened = listening.subscribe({
    caller,
    replacementKey: null,
    firstEvents: first,
    lastEvents: last,
    eventsFor: (uris) => [
      ...(resourcesListChanged === true ? [listChanged] : []),
      ...resourceSubscriptions
        .filter((uri) => uris.has(uri))
        .map((uri) => notificationEvent('notifications/resources/updated', { uri, _meta: tag })),
    ],
    isValid: () => true,
  })
  return listened.ok ? ok(streamResponse(listened.value)) : listened
}

function readFilter(given: unknown): Result<NotificationFilter, RpcError> {
  if (!isJsonObject(given)) return invalidParams(`notifications: expected object, found ${jsonKindOf(given)}`)
  for (const name of ['toolsListChanged', 'promptsListChanged', 'resourcesListChanged']) {
    const wanted = given[name]
    if (wanted !== undefined && typeof wanted !== 'boolean') {
      return invalidParams(`notifications.${name}: expected boolean, found ${jsonKindOf(wanted)}`)
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

async function* eventsOnly(events: readonly string[]): AsyncGenerator<string, void> {
  yield* events
}

function streamResponse(live: EventStream): RpcAnswer {
  return { status: 200, text: '', live }
}

function errorResult(id: RpcId, error: RpcError): Result<RpcAnswer, ServiceError> {
  return ok(errorResponse(200, id, error))
}
