// Where one writes: the field with its files, recordings, commands, and what it is about to change or to reply to.
import { act, plain, post, problem } from "./acts.js";
import { h, icon } from "./elements.js";
import { Completion } from "./completion.js";

export class Composer {
  constructor(pane, log, isThread = false) {
    this.pane = pane;
    this.log = log;
    this.isThread = isThread;
    log.composer = this;
    this.attached = []; // what is sent with the next message
    this.sending = false; // files are on their way
    this.opening = false; // the browser is asked for the microphone
    this.recorder = null;
    this.aim = null; // the message one is about to change, or to reply to: {kind, view}
    this.draft = ""; // what stood in the field before a message was to be changed
    this.mention = true;
    this.author = "you";
    this.build();
    this.listen();
    this.listenForFiles();
    this.refresh();
  }

  build() {
    const { skin, title } = this.pane;
    const where = this.isThread ? `in the thread on ${title}` : `on ${title}`;
    const button = (name, label, properties = {}) =>
      h("button", { type: "button", "aria-label": label, title: label, ...properties }, icon(name));
    this.field = h("textarea", {
      rows: "1",
      autocomplete: "off",
      spellcheck: "false",
      dir: "auto",
      "aria-label": `Message ${where}`,
    });
    if (!this.isThread) this.field.id = `field-${this.pane.name}`;
    this.input = h("input", {
      type: "file",
      multiple: true,
      hidden: true,
      tabindex: "-1",
      "aria-label": `Files ${where}`,
    });
    this.attachButton = button(skin.attach, `Attach files ${where}`, { class: "attach" });
    this.authorButton = h("button.as", { type: "button" });
    this.mentionButton = h("button.at", { type: "button", "aria-label": `Mention Parley ${where}` }, icon("at"));
    this.mentionButton.title = "Mention Parley: in here it hears nothing else";
    this.recordButton = button("mic", `Record a voice message ${where}`, {
      class: "record",
      "aria-pressed": "false",
    });
    this.go = h("button.go", { type: "submit", "aria-label": `Send ${where}` }, icon("send"));
    this.context = h("div.context", { hidden: true });
    this.chips = h("div.chips");
    const tools = [this.attachButton, this.authorButton, this.mentionButton];
    const box = skin.tall
      ? [this.field, ...tools, this.recordButton, h("span.gap"), this.go]
      : [...tools, this.field, this.recordButton, this.go];
    this.form = h("form.composer", {}, this.context, this.chips, h("div.box", {}, ...box, this.input));
    this.completion = new Completion(this);
  }

  listen() {
    this.form.addEventListener("submit", (event) => {
      event.preventDefault();
      const text = this.field.value;
      const { kind, view } = this.aim ?? {};
      (kind === "edit" ? this.change(view, text) : this.send(text, view)).then((sent) => {
        if (!sent) return;
        // What was written while it was on its way is the next message.
        if (this.field.value === text) this.write("");
        if (kind) this.leave();
      });
    });
    this.field.addEventListener("keydown", (event) => {
      // While an input method composes Chinese, Enter chooses a word and must not send.
      if (event.isComposing || event.keyCode === 229 || this.completion.takes(event)) return;
      if (event.key === "Escape" && this.aim) {
        event.stopPropagation();
        this.leave();
      }
      if (event.key === "ArrowUp" && !this.field.value && !this.aim) this.takeLast(event);
      if (event.key === "Enter" && !event.shiftKey) {
        event.preventDefault();
        this.form.requestSubmit();
      }
    });
    this.field.addEventListener("input", () => {
      this.grow();
      this.completion.offer();
    });
    this.mentionButton.addEventListener("click", () => {
      this.mention = !this.mention;
      this.refresh();
    });
    this.authorButton.addEventListener("click", () => {
      const keys = Object.keys(this.pane.people);
      this.author = keys[(keys.indexOf(this.author) + 1) % keys.length];
      this.leave();
      this.refresh();
    });
  }

  grow() {
    if (CSS.supports("field-sizing", "content")) return;
    this.field.style.height = "auto";
    this.field.style.height = `${this.field.scrollHeight + 2}px`;
  }

  write(text) {
    this.field.value = text;
    this.grow();
    this.completion.offer();
  }

  get place() {
    return this.pane.place;
  }

  /** Who writes here: of a direct chat there is one person only. */
  get who() {
    return this.place.kind === "direct" ? "you" : this.author;
  }

  /** Whether a mention is added: in a thread the bot hears everything where it takes part. */
  get mentions() {
    return this.place.mention && this.mention && !this.isThread;
  }

  async send(text, replied = null) {
    if (this.sending || (!text.trim() && !this.attached.length)) return false;
    if (!this.attached.length) return act("say", this.said(text, replied));
    const files = [...this.attached];
    const sent = await this.upload(this.said(text, replied), files);
    // What was attached meanwhile stays for the next message, and everything where nothing was sent.
    if (sent) this.attached = this.attached.filter((file) => !files.includes(file));
    this.refresh();
    return sent;
  }

  /** What is told of a message that is written here and now. */
  said(text, replied) {
    const body = { platform: this.pane.name, place: this.place.id, text, mention: this.mentions, author: this.who };
    this.log.pinned = true;
    if (replied) return { ...body, thread: replied.thread, chat: replied.chat, id: replied.id };
    return { ...body, thread: this.isThread ? this.pane.thread : "" };
  }

  async upload(body, files) {
    const form = new FormData();
    form.append("body", JSON.stringify(body));
    for (const file of files) form.append("file", file, file.name);
    this.sending = true;
    this.refresh();
    const sent = await post("send", { "X-Playground": "1" }, form);
    this.sending = false;
    this.refresh();
    return sent;
  }

  /** Files come by the button, by dropping and by pasting; a recording goes off as soon as it ends. */
  listenForFiles() {
    this.attachButton.addEventListener("click", () => this.input.click());
    this.input.addEventListener("change", () => {
      this.attach([...this.input.files]);
      this.input.value = "";
    });
    this.field.addEventListener("paste", (event) => {
      if (!event.clipboardData.files.length) return;
      event.preventDefault();
      this.attach([...event.clipboardData.files]);
    });
    this.recordButton.hidden = !navigator.mediaDevices || !globalThis.MediaRecorder;
    this.recordButton.addEventListener("click", () => (this.recorder ? this.recorder.stop() : this.record()));
  }

  attach(files) {
    const most = this.pane.mostBytes;
    const large = files.filter((file) => file.size > most);
    if (large.length)
      problem(`${large[0].name}: at most ${Math.floor(most / 2 ** 20)} MB can be sent on ${this.pane.title}`);
    if (this.aim?.kind === "edit") this.leave();
    this.attached.push(...files.filter((file) => !large.includes(file)));
    this.refresh();
    this.field.focus();
  }

  async record() {
    if (this.opening) return;
    this.opening = true;
    let stream;
    try {
      stream = await navigator.mediaDevices.getUserMedia({ audio: true });
    } catch {
      return problem("the browser gives this page no microphone");
    } finally {
      this.opening = false;
    }
    const pieces = [];
    this.recorder = new MediaRecorder(stream);
    this.recorder.addEventListener("dataavailable", (event) => pieces.push(event.data));
    this.recorder.addEventListener("stop", async () => {
      const media = this.recorder.mimeType.split(";")[0];
      this.recorder = null;
      this.recordButton.setAttribute("aria-pressed", "false");
      for (const track of stream.getTracks()) track.stop();
      const file = new File(pieces, `${this.pane.recording}.${media.split("/")[1]}`, { type: media });
      // Discord's voice messages have no words beside them.
      const body = this.said("", this.aim?.kind === "reply" ? this.aim.view : null);
      const told = { ...body, mention: body.mention && this.pane.name !== "discord" };
      if (this.sending || !(await this.upload(told, [file]))) this.attached.push(file);
      this.refresh();
    });
    this.recorder.start();
    this.recordButton.setAttribute("aria-pressed", "true");
  }

  async change(view, text) {
    if (!text.trim()) return false;
    return (
      text.trim() === view.written || act("edit", { platform: this.pane.name, chat: view.chat, id: view.id, text })
    );
  }

  /** Take a message, to change it or to reply to it with what is written next. */
  take(kind, view) {
    this.leave();
    this.aim = { kind, view };
    if (kind === "edit") {
      this.draft = this.field.value;
      this.write(view.written);
    }
    this.aimed(true);
    this.refresh();
    this.field.focus();
  }

  /** Take one's last message with the arrow key, as the platforms' own fields do. */
  takeLast(event) {
    const views = [...this.log.shown.values()].map((message) => message.view);
    const last = views.filter((view) => this.pane.mayDo(view).includes("edit")).at(-1);
    if (!last) return;
    event.preventDefault();
    this.take("edit", last);
  }

  /** Let go of it again; what was being written before stands in the field once more. */
  leave() {
    if (!this.aim) return;
    this.aimed(false);
    const { kind } = this.aim;
    this.aim = null;
    if (kind === "edit") this.write(this.draft);
    this.draft = "";
    this.refresh();
  }

  aimed(on) {
    const { chat, id } = this.aim.view;
    this.log.shown.get(`${chat} ${id}`)?.element.toggleAttribute("data-aimed", on);
  }

  /** Draw what stands around the field: the message in hand, files, who writes, and the mention. */
  refresh() {
    const { kind, view } = this.aim ?? {};
    this.context.hidden = !kind;
    if (kind) {
      const words = kind === "edit" ? "Edit message" : `Reply to ${view.name}`;
      const away = () => {
        this.leave();
        this.field.focus();
      };
      const label = kind === "edit" ? "Leave it as it was" : "Reply to nothing";
      const text = plain(view.html).slice(0, 80) || "Voice message";
      this.context.replaceChildren(
        icon(kind),
        h("span", {}, h("b", {}, words), text),
        h("button.icon", { type: "button", "aria-label": label, onclick: away }, icon("close")),
      );
    }
    this.chips.replaceChildren(...this.attached.map((file) => this.chip(file)));
    const direct = this.place.kind === "direct";
    const names = this.pane.people;
    this.authorButton.hidden = direct || Object.keys(names).length < 2;
    this.authorButton.setAttribute("aria-label", `You write as ${names[this.author]}: change that`);
    this.authorButton.title = `You write as ${names[this.author]}`;
    this.authorButton.replaceChildren(this.pane.face(this.author, names[this.author]));
    this.mentionButton.hidden = direct || !this.place.mention || this.isThread || kind === "edit";
    this.mentionButton.setAttribute("aria-pressed", String(this.mention));
    const does = this.sending ? "Sending…" : kind === "edit" ? "Save" : "Send";
    this.go.title = does;
    this.go.setAttribute("aria-label", `${does} ${this.isThread ? "in the thread " : ""}on ${this.pane.title}`);
    this.go.dataset.does = does;
    this.go.replaceChildren(icon(kind === "edit" ? "tick" : "send"));
    this.field.placeholder = this.isThread ? "Reply…" : this.pane.placeholder();
  }

  chip(file) {
    const remove = () => {
      this.attached = this.attached.filter((one) => one !== file);
      this.refresh();
      this.field.focus();
    };
    const voice = /^audio\//.test(file.type);
    return h(
      "span.chip",
      {},
      icon(voice ? "mic" : "file"),
      file.name,
      h("button", { type: "button", "aria-label": `Do not send ${file.name}`, onclick: remove }, icon("close")),
    );
  }
}
