// GET opens the notification stream of a session. Another GET of the same session replaces it, because a client notices a lost
// connection earlier than the server. HEAD opens no stream and leaves an open one unchanged.
import { ok } from '../../kernel/result.ts'
import { type McpResult, notificationEvent } from '../json-rpc.ts'
import type { McpCaller } from '../method.ts'
import type { SubscriptionRequest, SubscriptionService } from '../subscriptions.ts'

const listChanged = notificationEvent('notifications/resources/list_changed')

/** Sent first, so that the client receives the response headers at once. */
const FIRST_COMMENT = ': listening\n\n'

/**
 * Opens the stream. Errors: `unavailable` if a limit is reached.
 * @param sessionKey Identifies the session.
 * @param isSessionOpen Polled; the stream ends when it returns false.
 */
export function openNotificationStream(
  subscriptions: SubscriptionService,
  caller: McpCaller,
  sessionKey: string,
  isSessionOpen: () => boolean,
  headOnly: boolean,
): McpResult {
  const request: SubscriptionRequest = {
    caller,
    replacementKey: sessionKey,
    firstEvents: [FIRST_COMMENT],
    eventsFor: () => [listChanged],
    lastEvents: [],
    isValid: isSessionOpen,
  }
  const stream = headOnly ? subscriptions.checkSubscribe(request) : subscriptions.subscribe(request)
  return stream.ok ? ok({ status: 200, text: '', stream: stream.value }) : stream
}
