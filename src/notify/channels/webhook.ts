import { Webhook } from 'standardwebhooks'
import { codeName } from '../../model/errors.js'
import type { NotificationMessage } from '../../model/notification.js'
import type { Channel, ChannelOptions, OutgoingMessage } from '../channel.js'
import { accepted } from '../http-channel.js'
import { post } from '../post.js'

interface WebhookConfig {
  readonly url: string
  readonly secret: string
}

/** Of the list of events in one message. Receivers reject what is much larger, often without saying why. */
const MOST_BYTES = 256 * 1024
const MOST_EVENTS = 100

/** JSON for programs, signed as https://www.standardwebhooks.com describes. */
export function webhookChannel(config: WebhookConfig, { allowed, publicUrl }: ChannelOptions): Channel {
  const url = new URL(config.url)
  const signer = new Webhook(config.secret)
  return {
    type: 'webhook',
    host: url.host,
    async send({ message, text, signal }: OutgoingMessage) {
      const events = listed(message, publicUrl)
      const leftOut = message.events.length - events.length
      const lines =
        leftOut === 0 ? text.lines : [...text.lines, `${leftOut} more events: ${publicUrl}/ui/runs`]
      const body = JSON.stringify({
        type: `vitrina.${message.event}`,
        timestamp: message.createdAt,
        data: {
          title: text.title,
          text: lines.join('\n'),
          url: text.link,
          rule: message.ruleName,
          code: message.key === '' ? null : codeName(message.key),
          events,
          events_left_out: leftOut,
        },
      })
      // The time of this attempt: receivers refuse signatures that are older than five minutes.
      const now = new Date()
      const headers = {
        'webhook-id': message.id,
        'webhook-timestamp': String(Math.floor(now.getTime() / 1000)),
        'webhook-signature': signer.sign(message.id, now, body),
      }
      return accepted(url, await post({ url, body, headers, allowed, signal }))
    },
  }
}

/** The first events, as many as one message may hold. */
function listed({ events }: NotificationMessage, publicUrl: string) {
  const wires: ReturnType<typeof eventWire>[] = []
  let bytes = 0
  for (const event of events) {
    if (event.brief === true || wires.length === MOST_EVENTS) continue
    const wire = eventWire(event, publicUrl)
    bytes += Buffer.byteLength(JSON.stringify(wire))
    if (bytes > MOST_BYTES) break
    wires.push(wire)
  }
  return wires
}

function eventWire(event: NotificationMessage['events'][number], publicUrl: string) {
  const { pipelineId, pipelineName, runId, data } = event
  return {
    event: event.event,
    at: event.at,
    pipeline_id: pipelineId,
    pipeline: pipelineName,
    run_id: runId,
    url: runId === null ? `${publicUrl}/ui/pipelines/${pipelineId}` : `${publicUrl}/ui/runs/${runId}`,
    ...data,
    ...(typeof data.code === 'string' ? { code: codeName(data.code), vtr: data.code } : {}),
  }
}
