import type { Channel, ChannelOptions, OutgoingMessage } from '../channel.js'
import { accepted } from '../http-channel.js'
import { post } from '../post.js'

/** An incoming webhook of Slack, or of Mattermost, Rocket.Chat and others that take the same format. */
export function slackChannel(config: { readonly url: string }, { allowed }: ChannelOptions): Channel {
  const url = new URL(config.url)
  return {
    type: 'slack',
    host: url.host,
    async send({ text, signal }: OutgoingMessage) {
      const words = [`*${escaped(text.title)}*`, ...text.lines.map(escaped), `<${text.link}|Open in Vitrina>`]
      const body = JSON.stringify({ text: words.join('\n'), unfurl_links: false, unfurl_media: false })
      return accepted(url, await post({ url, body, headers: {}, allowed, signal }))
    },
  }
}

/**
 * Otherwise an error message could mention everyone (<!channel>, or @channel in Mattermost, which also reads Markdown), or
 * disguise a link. The space that separates them has no width.
 */
function escaped(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replace(/(?<!\w)@(?=\w)/g, '@\u200b')
    .replaceAll('](', ']\u200b(')
}
