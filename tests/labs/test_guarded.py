"""What assembly is refused, and what is put into the rest."""

from __future__ import annotations

import re
import time

import pytest
from checker.budget import Budget, Functions
from checker.frames import PATTERN
from checker.guarded import UnguardedError, guarded
from checker.indirect import direct_calls
from checker.instructions import access_of, no_flags_live, operands_of, whole_register


def function(*lines: str) -> str:
    body = "".join(f"\t{line}\n" for line in lines)
    return (
        "\t.text\n\t.type\tf, @function\nf:\n\t.cfi_startproc\n"
        f"{body}\tret\n\t.cfi_endproc\n\t.size\tf, .-f\n"
    )


PATTERN_STORE = f"movq\t${PATTERN}, "


def guards_in(text: str) -> int:
    return guarded(text)[0].count("call\tgpubench_guard\n")


@pytest.mark.parametrize(
    "line",
    [
        "syscall",
        "int\t$0x80",
        "sysenter",
        "call\t*%rax",
        "jmp\t*%rax",
        "jmp\t*8(%rbx)",
        "movq\t%rax, %rsp",
        "leave",
        "rep stosq",
        "movq\t%gs:0, %rax",
        "wrfsbase\t%rax",
        "wrpkru",
        "xrstor\t(%rax)",
        "popfq",
        "std",
        "movq\tstdout@GOTPCREL(%rip), %rax",
        "movq\t%rax, f(%rip)",
        "movq\tf(%rip), %rax",
        "movq\tthreadIdx@gottpoff+8(%rip), %rbx",
        "movdqu\tthreadIdx@gottpoff(%rip), %xmm0",
        "btsq\t%rax, (%rbx)",
        "lock addl\t$1, (%rax)",
        "movntps\t%xmm0, (%rax)",
        "nop; syscall",
        '.incbin\t"/etc/passwd"',
        ".byte\t0x0f, 0x05",
        '.section\t.init_array,"aw"',
        '.section\t.data,"aw"',
        ".set\tmain, f",
        ".set\t.LC0,f",
        ".set\t.LC0,main",
        ".set\t.LC0,.LC1",  # which is not there
        ".set\tf,.LC1",
        ".type\tg, @gnu_indirect_function",
        ".cfi_def_cfa_offset\t1000000",
        ".cfi_def_cfa_register 6",
    ],
)
def test_what_no_kernel_needs_is_refused(line: str) -> None:
    with pytest.raises(UnguardedError):
        guarded(function(line))


@pytest.mark.parametrize(
    ("lines", "guards"),
    [
        (["movl\t(%rbx), %eax"], 1),
        (["movl\t%eax, 8(%rsp,%rcx,4)"], 1),
        ([".cfi_def_cfa_offset\t32", "movl\t%eax, 8(%rsp)"], 0),
        ([".cfi_def_cfa_offset\t32", "movl\t%eax, 24(%rsp)"], 1),  # the return address
        ([".cfi_def_cfa_offset\t32", "movl\t8(%rsp), %eax"], 0),
        ([".cfi_def_cfa_offset\t32", "movl\t167936(%rsp), %eax"], 1),  # another thread's stack
        ([".cfi_def_cfa_offset\t32", "addss\t-167936(%rsp), %xmm0"], 1),
        (["movl\t%fs:(%rbx), %eax"], 1),
        (["movq\t%fs:0, %rax"], 0),
        (["movq\t%rax, %fs:0"], 1),
        (["movq\tthreadIdx@gottpoff(%rip), %rbx", "movl\t%fs:8(%rbx), %eax"], 0),
        (["movq\tthreadIdx@gottpoff(%rip), %rbx", "movl\t%fs:12(%rbx), %eax"], 1),
        (["movq\tthreadIdx@gottpoff(%rip), %rbx", "movl\t%eax, %fs:8(%rbx)"], 1),
        (["movq\tthreadIdx@gottpoff(%rip), %rbx", "addl\t$1, %ebx", "movl\t%fs:(%rbx), %eax"], 1),
        (["movq\tthreadIdx@gottpoff(%rip), %rbx", "call\tf", "movl\t%fs:(%rbx), %eax"], 1),
    ],
)
def test_what_leaves_a_frame_is_checked(lines: list[str], guards: int) -> None:
    assert guards_in(function(*lines)) == guards


@pytest.mark.parametrize("line", ["subq\t$24, %rsp", "addq\t$-24, %rsp"])
def test_what_is_taken_of_the_stack_is_cleared(line: str) -> None:
    """To its last byte, and no byte of what is there already; also where arguments are to go."""
    text = guarded(function("pushq\t%rbx", line, "nop", "addq\t$24, %rsp", line))[0]
    assert PATTERN_STORE not in text.split("pushq\t%rbx")[0]
    offsets = re.findall(rf"{re.escape(PATTERN_STORE)}(\S*)\(%rsp\)", text)
    assert offsets == 2 * ["-8", "-16", "-24"]


def test_a_large_frame_is_cleared_in_a_loop() -> None:
    text = guarded(function("subq\t$4096, %rsp"))[0]
    assert "pushq\t%rdi\n\tleaq\t-4088(%rsp), %rdi\n1:" in text  # all but what was pushed
    assert "popq\t%rdi\n\t" + PATTERN_STORE + "-8(%rsp)\n\tsubq\t$4096, %rsp" in text


def other(name: str, *lines: str) -> str:
    """A function as the compiler writes it, with labels of its own between name and beginning."""
    body = "".join(f"\t{line}\n" for line in lines)
    return (
        f"\t.type\t{name}, @function\n{name}:\n.LVL0:\n.LFB7:\n\t.cfi_startproc\n{body}\tret\n"
        f"\t.cfi_endproc\n\t.size\t{name}, .-{name}\n"
    )


def test_a_stack_that_has_a_bound_does_not_grow_by_recursion() -> None:
    """A frame counts once, however often its function calls itself."""
    budget = Budget(frame_bytes=1536)
    for called, own in (("g", "f"), ("f", "f"), ("g", "g")):
        text = function(f"call\t{called}") + other("g", f"call\t{own}")
        guarded(text)
        with pytest.raises(UnguardedError, match="calls itself"):
            guarded(text, budget=budget)
    guarded(function("call\tg") + other("g", "call\tsqrtf"), budget=budget)


def test_a_unit_of_many_calls_is_read_in_a_moment() -> None:
    """Each function calls all those after it."""
    names = [f"f{n}" for n in range(1000)]
    text = [other(f, *(f"call\t{g}" for g in names[n + 1 : n + 40])) for n, f in enumerate(names)]
    began = time.process_time()
    functions = Functions("".join(text).splitlines())
    assert functions.calling_itself() == ""
    assert functions.reached_from("f0") == set(names)
    assert time.process_time() - began < 2


def shared(name: str, size: int) -> str:
    return (
        f'\t.section\t.tbss,"awT",@nobits\n\t.type\t{name}, @object\n\t.size\t{name}, {size}\n'
        f"{name}:\n\t.zero\t{size}\n\t.text\n"
    )


def handed_over(kernel: str, function: str) -> str:
    handle = f"_ZN3lab{len(kernel)}{kernel}E"
    return (
        f'\t.section\t.data.rel.ro,"aw"\n\t.type\t{handle}, @object\n\t.size\t{handle}, 8\n'
        f"{handle}:\n\t.quad\t{function}\n\t.text\n"
    )


def test_a_block_has_48_kib_of_static_shared_memory() -> None:
    """All functions that a kernel reaches count, and not those that another one does."""
    load = "movl\t%fs:{}@tpoff(,%rax,4), %eax"
    kernels = function("call\tg", load.format("a")) + other("g", load.format("b"), "call\th")
    kernels += other("h") + other("k", load.format("c"))
    kernels += handed_over("first", "f") + handed_over("second", "k")
    rest = shared("a", 40_000) + shared("c", 40_000)
    guarded(kernels + rest + shared("b", 9152))
    with pytest.raises(UnguardedError, match="first: takes 49156 bytes of shared memory"):
        guarded(kernels + rest + shared("b", 9156))
    with pytest.raises(UnguardedError, match="takes 50000 bytes of static shared memory"):
        guarded(function(load.format("a")) + shared("a", 50_000))


def test_what_a_lab_is_about_has_less_shared_memory() -> None:
    """The memory that a kernel was launched with, or as much static memory: not both."""
    budget = Budget(shared_bytes={"first": 4096})
    load, ask = (
        "movl\t%fs:a@tpoff(,%rax,4), %eax",
        "call\t_ZN8gpubench5model21dynamic_shared_memoryEv@PLT",
    )
    handle = handed_over("first", "f")
    guarded(function(load) + handle + shared("a", 4096), budget=budget)
    guarded(function(ask) + handle, budget=budget)
    for lines, size in (((load,), 4100), ((load, ask), 4)):
        with pytest.raises(UnguardedError, match="first: takes 4100 bytes"):
            guarded(function(*lines) + handle + shared("a", size), budget=budget)


CONSTANTS = (
    '\t.section\t.rodata.cst4,"aM",@progbits,4\n.LC0:\n\t.long\t1065353216\n'
    '\t.section\t.rodata.str1.1,"aMS",@progbits,1\n.LC1:\n\t.string\t"a\\0012\\n"\n'
    "\t.section\t.rodata\ntable:\n\t.quad\t1\n\t.zero\t8\n"
    "\t.set\t.LC2,.LC1\n\t.set\t.LC3,.LC1+1\n"
)


@pytest.mark.parametrize(
    "line",
    [
        "movss\t.LC0(%rip), %xmm0",
        "movl\t1+.LC1(%rip), %eax",  # five bytes: a \001 2 \n and the end
        "movdqa\ttable(%rip), %xmm0",
        "movq\ttable+8(%rip), %rax",
        "cvtps2pd\ttable+8(%rip), %xmm0",
        "movss\t.LC2(%rip), %xmm0",  # .LC1's first four bytes, and its last four
        "movss\t.LC3(%rip), %xmm0",
        "leaq\t4096+table(%rip), %rax",  # reads nothing: whoever uses it is checked
    ],
)
def test_a_unit_reads_its_constants(line: str) -> None:
    assert guards_in(CONSTANTS + function(line)) == 0


@pytest.mark.parametrize(
    "line",
    [
        "movsd\t.LC0(%rip), %xmm0",
        "movl\t2+.LC1(%rip), %eax",
        "movq\ttable+12(%rip), %rax",
        "movq\t-4+table(%rip), %rax",
        "movq\ttable+4096-8(%rip), %rax",
        "movsd\t.LC3(%rip), %xmm0",
    ],
)
def test_nobody_reads_beyond_a_units_constants(line: str) -> None:
    with pytest.raises(UnguardedError, match="beyond the constants"):
        guarded(CONSTANTS + function(line))


def in_line(*lines: str) -> str:
    return '\t.file\t1 "/tmp/solution.cuh"\n' + function(".loc\t1 7 3", *lines)


@pytest.mark.parametrize("name", ["add", "sub", "mul", "div"])
@pytest.mark.parametrize("kind", ["ss", "sd", "ps", "pd"])
def test_operators_are_refused_where_a_lab_does_not_count_them(name: str, kind: str) -> None:
    text = in_line(f"{name}{kind}\t%xmm0, %xmm1")
    guarded(text)
    with pytest.raises(UnguardedError, match=r"solution\.cuh:7: .* write a \* b \+ c as fmaf"):
        guarded(text, only_fma=True)


def test_what_computes_nothing_is_no_operator() -> None:
    lines = ("cvtss2sd\t%xmm0, %xmm1", "xorps\t%xmm0, %xmm1", "comiss\t%xmm0, %xmm1")
    guarded(in_line(*lines, "addl\t$1, %eax", "mulq\t%rbx", "paddd\t%xmm0, %xmm1"), only_fma=True)


DESCRIBED = function(
    "leaq\t.Lubsan_data1(%rip), %rdi", "call\t__ubsan_handle_missing_return@PLT"
) + (
    '\t.section\t.data.rel.local,"aw"\n\t.align 16\n.Lubsan_data1:\n\t.long\t7\n\t.data\n'
    "\t.align 2\n.Lubsan_type1:\n\t.string\t\"'int'\"\n\t.section\t.data.rel.local\n"
    ".Lubsan_data2:\n\t.quad\t.Lubsan_type1\n\t.text\n"
)


def test_what_describes_a_check_is_no_variable() -> None:
    text = guarded(DESCRIBED)[0]
    assert "call\t__ubsan_handle_missing_return@PLT" in text
    assert not re.search(r"\t\.data\n|\.data\.rel\.local", text)


@pytest.mark.parametrize("label", [".Lubsan_data1:", ".Lubsan_type1:", ".Lubsan_data2:"])
def test_a_variable_beside_a_description_stays_one(label: str) -> None:
    with pytest.raises(UnguardedError, match="keeps a variable outside of its kernels"):
        guarded(DESCRIBED.replace(label, f"kept:\n\t.long\t0\n{label}"))


def test_symbols_of_a_unit_are_its_own() -> None:
    text = guarded(".globl\tmemcpy\n\t.weak\tmain\n" + function().replace("f:", "memcpy:\nf:"))[0]
    assert "globl\tmemcpy" not in text
    assert "weak" not in text


def test_flags_are_saved_where_somebody_asks_for_them() -> None:
    assert no_flags_live(["\tmovl\t(%rax), %ebx", "\tcmpl\t$1, %ebx"])
    assert not no_flags_live(["\tmovl\t(%rax), %ebx", "\tjne\t.L2"])
    assert not no_flags_live(["\tmovl\t(%rax), %ebx", ".L2:", "\tcmpl\t$1, %ebx"])


def test_registers_have_parts() -> None:
    assert {whole_register(part) for part in ("%rbx", "%ebx", "%bx", "%bl", "%bh")} == {"%rbx"}
    assert {whole_register(part) for part in ("%r9", "%r9d", "%r9w", "%r9b")} == {"%r9"}
    assert {whole_register(part) for part in ("%rdi", "%edi", "%di", "%dil")} == {"%rdi"}


def test_who_stores_is_known() -> None:
    store = access_of("addl", operands_of("%eax, 4(%rbx,%rcx,8)"))
    load = access_of("cmpl", operands_of("%eax, 4(%rbx,%rcx,8)"))
    assert store is not None
    assert load is not None
    assert (store.bytes, store.stores, load.bytes, load.stores) == (4, True, 4, False)


HANDED_OVER = "\t.section\t.rodata\n_ZN3lab4axpyE:\n\t.quad\tf\n"


def test_a_call_through_an_address_calls_what_the_unit_knows() -> None:
    table = "\t.section\t.rodata\nof:\n\t.quad\tg\n"
    text = guarded(
        function("call\t*8(%rbx)", "leaq\th(%rip), %rdi") + other("g") + other("h") + table
    )[0]
    assert re.findall(r"call\t(g|h|\*.*)\n", text) == ["h", "g"]
    assert text.count("call\tgpubench_guard\n") == 1  # of the load of the address
    assert "ud2" in text  # whatever else it is


def test_an_address_that_the_checker_launches_is_not_called() -> None:
    with pytest.raises(UnguardedError, match="that only the run knows"):
        guarded(function("call\t*%rax") + HANDED_OVER)


def test_a_function_that_is_called_by_its_address_counts_with_its_caller() -> None:
    text = direct_calls(function("leaq\tf(%rip), %rax", "call\t*%rax"))
    assert Functions(text.splitlines()).calling_itself() == "f"
