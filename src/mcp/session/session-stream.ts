// GET opens the stream of a session, on which the server tells of changes. It holds as long as the session; another GET of
// the same session takes its place, since a client that has lost its connection knows that before the server does. A HEAD
// opens none, so it leaves the open one alone.
import type { ServiceError } from '../../kernel/errors.ts'
import { ok, type Result } from '../../kernel/result.ts'
import { notificationEvent, type RpcAnswer } from '../json-rpc.ts'
import type { McpCaller } from '../method.ts'
import type { SubscriptionRequest, SubscriptionService } from '../subscriptions.ts'

const listChanged = notificationEvent('notifications/resources/list_changed')

/** So that the head of the answer goes out at once. */
const FIRST_COMMENT = ': listening\n\n'

export function openNotificationStream(
  listening: SubscriptionService,
  caller: McpCaller,
  place: string,
  stands: () => boolean,
  headOnly: boolean,
): Result<RpcAnswer, ServiceError> {
  const listener: SubscriptionRequest = {
    caller,
    replacementKey: place,
    firstEvents: [FIRST_COMMENT],
    eventsFor: () => [listChanged],
    lastEvents: [],
    isValid: stands,
  }
  const listened = headOnly ? listening.checkSubscribe(listener) : listening.subscribe(listener)
  return listened.ok ? ok({ status: 200, text: '', live: listened.value }) : listened
}
