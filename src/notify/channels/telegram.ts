import { cutText } from '../../model/cut-text.js'
import type { Channel, ChannelOptions, OutgoingMessage } from '../channel.js'
import { accepted } from '../http-channel.js'
import { post } from '../post.js'

interface TelegramConfig {
  readonly url: string
  readonly token: string
  readonly chat_id: string
}

/** The limit of the bot API. */
const MOST_CHARACTERS = 4_096

export function telegramChannel(config: TelegramConfig, { allowed }: ChannelOptions): Channel {
  const base = config.url.endsWith('/') ? config.url : `${config.url}/`
  const url = new URL(`${base}bot${config.token}/sendMessage`)
  return {
    type: 'telegram',
    host: url.host,
    async send({ text, signal }: OutgoingMessage) {
      const end = `\n${text.link}`
      const words = cutText([text.title, ...text.lines].join('\n'), MOST_CHARACTERS - end.length)
      // Without parse_mode: nothing in the text is read as markup.
      const body = JSON.stringify({
        chat_id: config.chat_id,
        text: words + end,
        link_preview_options: { is_disabled: true },
      })
      return accepted(url, await post({ url, body, headers: {}, allowed, signal }), [config.token])
    },
  }
}
