// The method `subscriptions/listen`: its response is a stream of notifications, each with the id of the request, until either
// side ends it.
import { writeJson } from '../../kernel/json/json.ts'
import { isJsonObject, jsonKindOf } from '../../kernel/json/json-kind.ts'
import { ok, type Result } from '../../kernel/result.ts'
import {
  errorResponse,
  invalidParams,
  type McpResult,
  notificationEvent,
  type RpcError,
  type RpcId,
  type RpcObject,
  type RpcResponse,
  rpcCodes,
  serializedResponse,
  toEvent,
} from '../json-rpc.ts'
import type { EventStream, McpCaller } from '../method.ts'
import { isResourceUri } from '../resources.ts'
import type { SubscriptionService } from '../subscriptions.ts'

/** The name of the method. */
export const LISTEN_METHOD = 'subscriptions/listen'

const SUBSCRIPTION_KEY = 'io.modelcontextprotocol/subscriptionId'

/** Limits of what a subscription keeps in memory: each notification repeats the id, and each URI may be pending. */
const ID_LENGTH_MAX = 256
const URIS_MAX = 100
const URI_LENGTH_MAX = 1024

/** The requested notifications that this server can send. */
interface NotificationFilter {
  readonly resourcesListChanged?: true
  readonly resourceSubscriptions?: readonly string[]
}

/**
 * Opens the stream of a subscription. Errors: `unavailable` if a limit is reached.
 * @param meta Members of `_meta` with the server info.
 */
export function listenForNotifications(
  subscriptions: SubscriptionService,
  caller: McpCaller,
  id: RpcId,
  { notifications }: RpcObject,
  meta: RpcObject,
): McpResult {
  if (typeof id === 'string' && id.length > ID_LENGTH_MAX) {
    return errorResult(id, {
      code: rpcCodes.invalidParams,
      message: `id: expected at most ${ID_LENGTH_MAX} characters for a subscription`,
    })
  }
  const filter = readFilter(notifications)
  if (!filter.ok) return errorResult(id, filter.error)
  const { resourcesListChanged, resourceSubscriptions = [] } = filter.value
  const tag = { [SUBSCRIPTION_KEY]: id }
  const firstEvents = [
    notificationEvent('notifications/subscriptions/acknowledged', { notifications: filter.value, _meta: tag }),
  ]
  const result = writeJson({ resultType: 'complete', _meta: { ...tag, ...meta } })
  const lastEvents = [toEvent(serializedResponse(id, result).text)]
  if (resourcesListChanged === undefined && resourceSubscriptions.length === 0) {
    // No requested notification can ever be sent.
    return ok(streamResponse(eventsOnly([...firstEvents, ...lastEvents])))
  }
  const listChanged = notificationEvent('notifications/resources/list_changed', { _meta: tag })
  const stream = subscriptions.subscribe({
    caller,
    replacementKey: null,
    firstEvents,
    lastEvents,
    eventsFor: (uris) => [
      ...(resourcesListChanged === true ? [listChanged] : []),
      ...resourceSubscriptions
        .filter((uri) => uris.has(uri))
        .map((uri) => notificationEvent('notifications/resources/updated', { uri, _meta: tag })),
    ],
    isValid: () => true,
  })
  return stream.ok ? ok(streamResponse(stream.value)) : stream
}

function readFilter(notifications: unknown): Result<NotificationFilter, RpcError> {
  if (!isJsonObject(notifications))
    return invalidParams(`notifications: expected object, found ${jsonKindOf(notifications)}`)
  for (const name of ['toolsListChanged', 'promptsListChanged', 'resourcesListChanged']) {
    const requested = notifications[name]
    if (requested !== undefined && typeof requested !== 'boolean') {
      return invalidParams(`notifications.${name}: expected boolean, found ${jsonKindOf(requested)}`)
    }
  }
  const { resourcesListChanged, resourceSubscriptions = [] } = notifications
  if (!Array.isArray(resourceSubscriptions) || resourceSubscriptions.some((uri) => typeof uri !== 'string')) {
    return invalidParams('notifications.resourceSubscriptions: expected an array of strings')
  }
  const uris = [...new Set(resourceSubscriptions as string[])].filter(
    (uri) => uri.length <= URI_LENGTH_MAX && isResourceUri(uri),
  )
  if (uris.length > URIS_MAX) {
    return invalidParams(`notifications.resourceSubscriptions: expected at most ${URIS_MAX} URIs`)
  }
  return ok({
    ...(resourcesListChanged === true && { resourcesListChanged }),
    ...(uris.length > 0 && { resourceSubscriptions: uris }),
  })
}

async function* eventsOnly(events: readonly string[]): AsyncGenerator<string, void> {
  yield* events
}

function streamResponse(stream: EventStream): RpcResponse {
  return { status: 200, text: '', stream }
}

function errorResult(id: RpcId, error: RpcError): McpResult {
  return ok(errorResponse(200, id, error))
}
